#include "runtime/session/peer_inputs.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/session/arguments.h"

namespace onnx_cudnn {
namespace {

bool IsElsewhere(const TensorView& view, const DeviceRef& device) {
  return view.device.kind == DeviceKind::kCuda && device.kind == DeviceKind::kCuda &&
         view.device != device;
}

// Whether its bytes are known: what is wrong otherwise is left to the checks of all inputs.
bool CanCopy(const TensorView& view) {
  const absl::StatusOr<int64_t> bytes = CheckedBytes(view.dtype, view.shape);
  return bytes.ok() && (*bytes == 0 || view.data != nullptr) && IsRowMajor(view) &&
         view.dtype != DType::kString;
}

absl::StatusOr<Tensor> Copy(const LoadedModel& model, const TensorView& from) {
  Device& device = model.device().device();
  RETURN_IF_ERROR(device.MakeCurrent());
  ASSIGN_OR_RETURN(Tensor copy, model.memory().Allocate(from.dtype, from.shape, Space::kDevice));
  if (copy.bytes() > 0) {
    RETURN_IF_ERROR(device.CopyFromPeer(copy.raw(), from.data, from.device.ordinal, copy.bytes()));
  }
  return copy;
}

// The copy of a tensor of input `i` that lies elsewhere; nullopt: it is to stay where it is.
absl::StatusOr<std::optional<Tensor>> CopyHere(const LoadedModel& model, const TensorView& view,
                                               size_t i, const RunOptions& options) {
  const DeviceRef device = model.device().ref();
  if (!IsElsewhere(view, device) || !CanCopy(view)) return std::nullopt;
  if (options.stream != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("run option stream: input ", i, " is in memory of ", NameOf(view.device),
                     " and is copied to ", NameOf(device), " before the run, expected null"));
  }
  absl::StatusOr<Tensor> copy = Copy(model, view);
  if (!copy.ok()) return Annotate(copy.status(), absl::StrCat("input ", i));
  return *std::move(copy);
}

absl::StatusOr<ModelValue> ValueHere(const LoadedModel& model, const ModelValue& value, size_t i,
                                     const RunOptions& options) {
  if (value.kind() == ValueKind::kTensor) {
    ASSIGN_OR_RETURN(std::optional<Tensor> copy,
                     CopyHere(model, value.tensor().view(), i, options));
    return copy.has_value() ? ModelValue(*std::move(copy)) : value;
  }
  std::vector<ModelValue> elements;
  for (const ModelValue& element : value.elements()) {
    ASSIGN_OR_RETURN(elements.emplace_back(Tensor()), ValueHere(model, element, i, options));
  }
  if (value.kind() == ValueKind::kMap) return ModelValue::Map(value.tensor(), std::move(elements));
  if (value.kind() == ValueKind::kSequence) return ModelValue::Sequence(std::move(elements));
  return elements.empty() ? ModelValue::Optional() : ModelValue::Optional(std::move(elements[0]));
}

}  // namespace

absl::StatusOr<PeerInputs> PeerInputs::Of(const LoadedModel& model,
                                          const std::vector<NamedView>& given,
                                          const RunOptions& options) {
  PeerInputs inputs(given);
  for (size_t i = 0; i < given.size(); ++i) {
    ASSIGN_OR_RETURN(std::optional<Tensor> copy, CopyHere(model, given[i].view, i, options));
    if (!copy.has_value()) continue;
    if (inputs.copied_.empty()) inputs.copied_ = given;
    inputs.copied_[i].view = copy->view();
    inputs.tensors_.push_back(*std::move(copy));
  }
  return inputs;
}

absl::StatusOr<std::vector<NamedValue>> ValuesHere(const LoadedModel& model,
                                                   const std::vector<NamedValue>& given,
                                                   const RunOptions& options) {
  std::vector<NamedValue> here = given;
  for (size_t i = 0; i < here.size(); ++i) {
    ASSIGN_OR_RETURN(here[i].value, ValueHere(model, given[i].value, i, options));
  }
  return here;
}

}  // namespace onnx_cudnn
