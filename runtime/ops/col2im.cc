#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/im2col.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

// Limit of attributes and extents, so that products cannot overflow.
constexpr int64_t kLargest = 1 << 16;

struct AxisLists {
  std::vector<int64_t> strides, dilations, pads;
  AxisLists(const Node& node, size_t axes)
      : strides(node.attrs().Ints("strides", std::vector<int64_t>(axes, 1))),
        dilations(node.attrs().Ints("dilations", std::vector<int64_t>(axes, 1))),
        pads(node.attrs().Ints("pads", std::vector<int64_t>(2 * axes, 0))) {}
};

bool AllWithin(const std::vector<int64_t>& list, size_t length, int64_t lowest) {
  return list.size() == length && std::all_of(list.begin(), list.end(), [&](int64_t value) {
           return value >= lowest && value < kLargest;
         });
}

// The window that slides over the image and produces the blocks of the columns.
absl::StatusOr<Window> WindowOf(const Node& node, const std::vector<int64_t>& image,
                                const std::vector<int64_t>& block) {
  const size_t axes = image.size();
  if (!AllWithin(image, axes, 0) || !AllWithin(block, axes, 1))
    return absl::InvalidArgumentError(
        absl::StrCat("image ", ToString(absl::MakeConstSpan(image)), " and block ",
                     ToString(absl::MakeConstSpan(block)), " make no window"));
  const AxisLists lists(node, axes);
  Window window;
  for (size_t i = 0; i < axes; ++i) {
    WindowAxis axis = {.in = image[i],
                       .kernel = block[i],
                       .stride = lists.strides[i],
                       .dilation = lists.dilations[i],
                       .pad_begin = lists.pads[i],
                       .pad_end = lists.pads[axes + i]};
    const int64_t room =
        axis.in + axis.pad_begin + axis.pad_end - (axis.kernel - 1) * axis.dilation - 1;
    axis.out = room < 0 ? 0 : room / axis.stride + 1;
    window.axes[kMaxSpatialRank - axes + i] = axis;
  }
  return window;
}

absl::Status ReferenceCol2Im(const ReferenceArgs& args) {
  const std::vector<int64_t> image = IntsOf(args.in[1]), block = IntsOf(args.in[2]);
  ASSIGN_OR_RETURN(const Window window, WindowOf(args.node, image, block));
  const absl::Span<const int64_t> columns = args.in[0].dims;
  const int64_t channels = columns[1] / window.kernel_size();
  RETURN_IF_ERROR(ExpectDims("input", columns,
                             {columns[0], channels * window.kernel_size(), window.out_size()}));
  Dims dims = {columns[0], channels};
  dims.insert(dims.end(), image.begin(), image.end());
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    using T = decltype(type);
    const T* from = static_cast<const T*>(args.in[0].data);
    T* to = static_cast<T*>(args.out[0].data);
    std::fill_n(to, args.out[0].elements(), T{0});
    const int64_t work = window.kernel_size() * window.out_size();
    args.threads.ParallelFor(columns[0] * channels, GrainFor(work), [&](int64_t i, int64_t end) {
      ColumnsToImage(window, from, i, end, to);
    });
    return absl::OkStatus();
  });
}

Support CheckCol2Im(const Node& node) {
  const int64_t axes = node.input(1).rank() == 1 ? node.input(1).dim(0) : 0;
  if (axes < 1 || axes > kMaxSpatialRank)
    return Support::No(absl::StrCat("1 to ", kMaxSpatialRank, " image axes are implemented"));
  if (node.input(2).rank() != 1 || node.input(2).dim(0) != axes)
    return Support::No("image_shape and block_shape differ in length");
  if (node.input(0).rank() != 3)
    return Support::No(absl::StrCat("input has rank ", node.input(0).rank(), ", expected 3"));
  const AxisLists lists(node, axes);
  const bool fits = AllWithin(lists.strides, axes, 1) && AllWithin(lists.dilations, axes, 1) &&
                    AllWithin(lists.pads, 2 * axes, 0);
  return fits ? Support::Yes() : Support::No("strides, dilations or pads are out of range");
}

Cost Col2ImCost(const Node& node) {
  return {.flops = node.input(0).elements(), .bytes = IoBytes(node)};
}

}  // namespace

OpDef Col2ImOp() { return WidenedOp<ReferenceCol2Im>({.check = CheckCol2Im, .cost = Col2ImCost}); }

}  // namespace onnx_cudnn
