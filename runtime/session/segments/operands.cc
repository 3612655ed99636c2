#include "runtime/session/segments/operands.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

absl::Status Expected(size_t i, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("input ", i, ": expected ", what));
}

}  // namespace

absl::StatusOr<Tensor> NodeOperands::TensorAt(size_t i) const {
  if (!has(i) || values[i]->kind() != ValueKind::kTensor) return Expected(i, "a tensor");
  return values[i]->tensor();
}

absl::StatusOr<std::vector<ModelValue>> NodeOperands::SequenceAt(size_t i) const {
  if (!has(i) || values[i]->kind() != ValueKind::kSequence) return Expected(i, "a sequence");
  return values[i]->elements();
}

absl::StatusOr<int64_t> NumberOf(const Tensor& tensor, const ValueMemory& memory) {
  ASSIGN_OR_RETURN(const HostTensor host, memory.ToHost(tensor));
  ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ToInts(host));
  if (numbers.size() == 1) return numbers[0];
  return absl::InvalidArgumentError(
      absl::StrCat("expected one element, found ", ToString(absl::MakeConstSpan(host.dims()))));
}

}  // namespace onnx_cudnn
