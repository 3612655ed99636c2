// DepthToSpace and SpaceToDepth: permutations of six axes, into which channels, rows and columns
// are split.
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/move/permute_plan.h"

namespace onnx_cudnn {
namespace {

// Strides of the side with the blocks in channels and of the side with the blocks in pixels.
struct Sides {
  Strides depth, space;
};

// The six axes, with strides of the depth side in `from` and of the space side in `to`.
std::vector<PermutedAxis> AxesOf(const Sides& sides, int64_t block, bool is_depth_first) {
  const int64_t* d = sides.depth.strides;
  const int64_t* s = sides.space.strides;
  const int64_t n = sides.depth.dims[0], c = sides.space.dims[1], h = sides.depth.dims[2],
                w = sides.depth.dims[3];
  // A channel is (row, column, c) in depth-first order, otherwise (c, row, column).
  const int64_t row = is_depth_first ? block * c : block, column = is_depth_first ? c : 1,
                channel = is_depth_first ? 1 : block * block;
  const auto axis = [](int64_t extent, int64_t from, int64_t to) {
    return PermutedAxis{extent, from, to, extent, extent};
  };
  return {axis(n, d[0], s[0]),         axis(c, channel * d[1], s[1]),
          axis(h, d[2], block * s[2]), axis(block, row * d[1], s[2]),
          axis(w, d[3], block * s[3]), axis(block, column * d[1], s[3])};
}

}  // namespace

absl::StatusOr<KernelCode> CompileDepthSpace(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand in = operands.Of(node.input(0)), out = operands.Of(node.output(0));
  const bool to_space = node.op() == "DepthToSpace";
  const Sides sides =
      to_space ? Sides{StridesOf(in), StridesOf(out)} : Sides{StridesOf(out), StridesOf(in)};
  std::vector<PermutedAxis> axes =
      AxesOf(sides, node.attrs().Int("blocksize", 1), node.attrs().String("mode", "DCR") == "DCR");
  for (PermutedAxis& axis : axes) {
    if (!to_space) std::swap(axis.from, axis.to);
  }
  auto calls = PlanPermutation(in.element_bytes(), std::move(axes), in.slot, out.slot);
  if (!calls) return absl::UnimplementedError("an axis has 2^31 elements or more");
  return KernelCode{.calls = *std::move(calls), .constants = operands.TakeConstants()};
}

}  // namespace onnx_cudnn
