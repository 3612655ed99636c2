#include "runtime/ops/operands.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

std::vector<int64_t> IntsOf(const TensorRef& tensor) {
  if (tensor.dtype == DType::kI32) {
    absl::Span<const int32_t> narrow = tensor.as<int32_t>();
    return {narrow.begin(), narrow.end()};
  }
  absl::Span<const int64_t> values = tensor.as<int64_t>();
  return {values.begin(), values.end()};
}

absl::StatusOr<int64_t> ScalarOf(const TensorRef& tensor, std::string_view what) {
  if (tensor.elements() == 1) return IntsOf(tensor)[0];
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", tensor.elements(), " elements, expected 1"));
}

int64_t ConstantOr(const Node& node, int input, int64_t otherwise) {
  if (!node.has_input(input) || !node.input(input).is_constant()) return otherwise;
  const HostTensor& t = node.input(input).constant();
  if (t.dtype() != DType::kI32 && t.dtype() != DType::kI64) return otherwise;
  return ScalarOf({t.dtype(), t.dims(), t.raw()}, "").value_or(otherwise);
}

absl::StatusOr<int64_t> CheckedIndex(int64_t index, int64_t extent, int64_t axis) {
  if (index >= -extent && index < extent) return index < 0 ? index + extent : index;
  return absl::InvalidArgumentError(
      absl::StrCat("index ", index, " is outside extent ", extent, " of axis ", axis));
}

absl::StatusOr<std::vector<int64_t>> CheckedIndices(const TensorRef& indices, int64_t extent,
                                                    int64_t axis) {
  std::vector<int64_t> checked = IntsOf(indices);
  for (int64_t& index : checked) {
    ASSIGN_OR_RETURN(index, CheckedIndex(index, extent, axis));
  }
  return checked;
}

absl::StatusOr<std::vector<int64_t>> AxesOf(const ReferenceArgs& args, size_t input, int64_t rank,
                                            int64_t count) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (args.has_in(input)) axes = IntsOf(args.in[input]);
  std::vector<bool> seen(rank);
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is outside rank ", rank));
    }
    if (axis < 0) axis += rank;
    if (seen[axis])
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is given twice"));
    seen[axis] = true;
  }
  if (static_cast<int64_t>(axes.size()) != count) {
    return absl::InvalidArgumentError(absl::StrCat(axes.size(), " axes for ", count, " values"));
  }
  return axes;
}

}  // namespace onnx_cudnn
