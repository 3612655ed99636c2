#include "runtime/ops/checks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onnx_cudnn {

Support CheckSameDType(const Node& node, int inputs) {
  for (int i = 1; i < inputs; ++i) {
    if (!node.has_input(i) || node.input(i).dtype() == node.input(0).dtype()) continue;
    return Support::No(absl::StrFormat("input %d is %s, input 0 is %s", i,
                                       NameOf(node.input(i).dtype()),
                                       NameOf(node.input(0).dtype())));
  }
  return Support::Yes();
}

Support CheckMatrices(const Node& node) {
  const int rank = node.input(0).rank();
  if (rank >= 2) return Support::Yes();
  return Support::No(absl::StrFormat("X has rank %d, expected 2 or more", rank));
}

Support CheckAxis(int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return Support::Yes();
  return Support::No(absl::StrFormat("axis %d is outside rank %d", axis, rank));
}

AxisView ViewAround(absl::Span<const int64_t> dims, int64_t axis) {
  return {.outer = ElementsOf(dims.subspan(0, axis)),
          .extent = dims[axis],
          .inner = ElementsOf(dims.subspan(axis + 1))};
}

absl::Status ExpectDims(const char* what, absl::Span<const int64_t> found,
                        absl::Span<const int64_t> expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", ToString(found), ", expected ", ToString(expected)));
}

absl::Status ExpectSquares(const char* what, absl::Span<const int64_t> found) {
  Dims expected(found.begin(), found.end());
  expected[expected.size() - 2] = expected.back();
  return ExpectDims(what, found, expected);
}

}  // namespace onnx_cudnn
