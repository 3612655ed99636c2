#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

// One factor for all elements, or one per element of a row. If nothing is normalized, any factors
// are accepted: the function body, which would run instead, reshapes with extents of 0.
Support TakesFactors(const Unit& core) {
  const Node& node = core.node();
  if (node.input(0).elements() == 0) return Support::Yes();
  const Dims x = node.input(0).dims();
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", -1), node.input(0).rank());
  const absl::Span<const int64_t> row = absl::MakeConstSpan(x).subspan(axis);
  for (const Value* factor : node.inputs().subspan(1)) {
    if (factor == nullptr || factor->elements() == 1) continue;
    const Dims all = factor->dims();
    absl::Span<const int64_t> dims = all;
    while (dims.size() > row.size() && dims.front() == 1) dims.remove_prefix(1);
    if (dims == row) continue;
    return Support::No(absl::StrCat(factor->name(), " is ", ToString(factor->type()),
                                    ", expected one element or the normalized axes ",
                                    ToString(row)));
  }
  return Support::Yes();
}

}  // namespace

// LayerNormalization and RMSNormalization over the last axes, row-major, with mean and inverse
// deviation as optional outputs. A warp per row of up to 1,024 elements, a block for longer rows; a
// row is read once, sums in f32.
Kernel RowNormKernel() {
  return {.name = "row_norm",
          .ops = {"LayerNormalization", "RMSNormalization"},
          .takes = TakesFactors,
          .formats = RowMajorOnly};
}

}  // namespace onnx_cudnn
