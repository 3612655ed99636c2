// Transpose: axis i of the output is axis perm[i] of the input, in any pair of Formats.
#include "runtime/ops/transpose.h"

#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/kernels/cuda/move/permute_plan.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompileTranspose(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand in = operands.Of(node.input(0)), out = operands.Of(node.output(0));
  const std::vector<int64_t> perm = TransposePerm(node, node.input(0).rank());
  const Strides from = StridesOf(in), to = StridesOf(out);
  std::vector<PermutedAxis> axes;
  for (int a = 0; a < to.rank; ++a) {
    const int64_t extent = to.dims[a];
    axes.push_back({extent, from.strides[perm[a]], to.strides[a], extent, extent});
  }
  auto calls = PlanPermutation(in.element_bytes(), std::move(axes), in.slot, out.slot);
  if (!calls) return absl::UnimplementedError("a transposed axis has 2^31 elements or more");
  return KernelCode{.calls = *std::move(calls), .constants = operands.TakeConstants()};
}

}  // namespace onnx_cudnn
