#include "runtime/session/check_finite.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {
namespace {

// Elements whose bits of the exponent are all set.
template <typename Bits>
int64_t NotFinite(const HostTensor& tensor, Bits exponent) {
  const absl::Span<const Bits> bits = tensor.data<Bits>();
  return std::count_if(bits.begin(), bits.end(),
                       [&](Bits b) { return (b & exponent) == exponent; });
}

int64_t NotFinite(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return NotFinite<uint32_t>(tensor, 0x7f800000);
    case DType::kF64:
      return NotFinite<uint64_t>(tensor, 0x7ff0000000000000);
    case DType::kF16:
      return NotFinite<uint16_t>(tensor, 0x7c00);
    case DType::kBF16:
      return NotFinite<uint16_t>(tensor, 0x7f80);
    default:
      return 0;
  }
}

absl::Status Check(const LoadedModel& model, const TensorView& view, const std::string& name) {
  if (!kFloatTypes.Has(view.dtype)) return absl::OkStatus();
  HostTensor tensor;
  if (view.device == DeviceRef{}) {
    tensor = HostTensor::Borrow(view.dtype, view.shape, view.data, /*owner=*/nullptr);
  } else {
    tensor = HostTensor::Allocate(view.dtype, view.shape);
    RETURN_IF_ERROR(
        model.device().transfers().ToHost(view.data, tensor.mutable_raw(), tensor.bytes()));
  }
  const int64_t count = NotFinite(tensor);
  if (count == 0) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrFormat("output \"%s\": %d of %d elements are NaN or infinite (option check_finite)",
                      name, count, tensor.elements()));
}

absl::Status Check(const LoadedModel& model, const ModelValue& value, const std::string& name) {
  if (value.kind() == ValueKind::kTensor) return Check(model, value.tensor().view(), name);
  for (const ModelValue& element : value.elements()) {
    RETURN_IF_ERROR(Check(model, element, name));
  }
  return absl::OkStatus();
}

const TensorView& ViewOf(const TensorView& view) { return view; }
TensorView ViewOf(const Tensor& tensor) { return tensor.view(); }
const ModelValue& ViewOf(const ModelValue& value) { return value; }

template <typename Output>
absl::Status CheckAll(const LoadedModel& model, const std::vector<Output>& outputs) {
  if (!model.checks_finite()) return absl::OkStatus();
  for (size_t i = 0; i < outputs.size(); ++i) {
    RETURN_IF_ERROR(Check(model, ViewOf(outputs[i]), model.outputs()[i].name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFinite(const LoadedModel& model, const std::vector<TensorView>& outputs) {
  return CheckAll(model, outputs);
}
absl::Status CheckFinite(const LoadedModel& model, const std::vector<Tensor>& outputs) {
  return CheckAll(model, outputs);
}
absl::Status CheckFinite(const LoadedModel& model, const std::vector<ModelValue>& outputs) {
  return CheckAll(model, outputs);
}

}  // namespace onnx_cudnn
