#include "runtime/session/segments/values.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/deciding_inputs.h"
#include "runtime/session/arguments.h"
#include "runtime/session/buckets/copy_prefix.h"

namespace onnx_cudnn {
namespace {

bool IsOnHost(const Tensor& tensor) { return tensor.device() == DeviceRef{}; }

absl::StatusOr<Tensor> AllocateOnHost(DType dtype, const Dims& dims) {
  Result<Tensor> tensor = Tensor::Allocate(dtype, dims);
  if (!tensor.ok()) return absl::ResourceExhaustedError(tensor.error().message);
  return std::move(tensor).value();
}

}  // namespace

Tensor TensorMaker::Make(DType dtype, Dims dims, DeviceRef device, std::shared_ptr<void> data) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(dims);
  tensor.device_ = device;
  tensor.data_ = std::move(data);
  return tensor;
}

Tensor TensorMaker::Of(const HostTensor& tensor) {
  auto owner = std::make_shared<const HostTensor>(tensor);
  const void* data = tensor.dtype() == DType::kString ? tensor.strings().data() : tensor.raw();
  return Make(tensor.dtype(), tensor.dims(), {},
              std::shared_ptr<void>(std::move(owner), const_cast<void*>(data)));
}

Tensor TensorMaker::Reshaped(const Tensor& tensor, Dims dims) {
  return Make(tensor.dtype(), std::move(dims), tensor.device(), tensor.data_);
}

absl::StatusOr<Tensor> ValueMemory::Allocate(DType dtype, const Dims& dims, Space space) const {
  if (space == Space::kHost || device_.ref() == DeviceRef{}) return AllocateOnHost(dtype, dims);
  ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, dims));
  ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory,
                   device_.device().Allocate(bytes, Space::kDevice));
  return TensorMaker::Make(dtype, dims, device_.ref(), std::move(memory));
}

absl::StatusOr<HostTensor> ValueMemory::ToHost(const Tensor& tensor) const {
  if (tensor.dtype() == DType::kString) {
    const auto* strings = tensor.data<std::string>();
    return HostTensor::Strings(tensor.shape(), {strings, strings + tensor.elements()});
  }
  if (IsOnHost(tensor)) {
    return HostTensor::Borrow(tensor.dtype(), tensor.shape(), tensor.raw(),
                              std::make_shared<const Tensor>(tensor));
  }
  HostTensor copy = HostTensor::Allocate(tensor.dtype(), tensor.shape());
  RETURN_IF_ERROR(device_.transfers().ToHost(tensor.raw(), copy.mutable_raw(), copy.bytes()));
  return copy;
}

absl::Status ValueMemory::CopyBytes(const Tensor& from, std::byte* to, Space space) const {
  const int64_t bytes = from.bytes();
  if (bytes == 0) return absl::OkStatus();
  if (IsOnHost(from) && space == Space::kHost) {
    std::memcpy(to, from.raw(), bytes);
    return absl::OkStatus();
  }
  Transfers& transfers = device_.transfers();
  if (IsOnHost(from)) return transfers.ToDevice(from.raw(), to, bytes);
  if (space == Space::kHost) return transfers.ToHost(from.raw(), to, bytes);
  return transfers.WithinDevice(from.raw(), to, bytes);
}

absl::StatusOr<Tensor> ValueMemory::Resize(const Tensor& from, const Dims& dims,
                                           void* callers_stream) const {
  ASSIGN_OR_RETURN(Tensor to,
                   Allocate(from.dtype(), dims, IsOnHost(from) ? Space::kHost : Space::kDevice));
  if (to.bytes() == 0) return to;
  const absl::Span<std::byte> bytes(static_cast<std::byte*>(to.raw()), to.bytes());
  const std::vector<BoxCopy> boxes =
      CommonBoxes(from.raw(), from.shape(), to.raw(), dims, BitsOf(from.dtype()) / 8);
  int64_t copied = 0;
  for (const BoxCopy& box : boxes) copied += box.row_bytes * box.rows * box.planes;
  const auto cleared = copied < to.bytes() ? bytes : absl::Span<std::byte>();
  if (!IsOnHost(from)) {
    RETURN_IF_ERROR(device_.transfers().FillWithin(cleared, boxes, callers_stream));
    return to;
  }
  if (!cleared.empty()) std::memset(cleared.data(), 0, cleared.size());
  CopyBoxes(boxes);
  return to;
}

absl::StatusOr<Tensor> ValueMemory::ToDevice(const Tensor& tensor) const {
  const bool stays = !IsOnHost(tensor) || device_.ref() == DeviceRef{} ||
                     tensor.dtype() == DType::kString || tensor.bytes() <= kMostDecidingBytes;
  if (stays) return tensor;
  ASSIGN_OR_RETURN(Tensor copy, Allocate(tensor.dtype(), tensor.shape(), Space::kDevice));
  RETURN_IF_ERROR(CopyBytes(tensor, static_cast<std::byte*>(copy.raw()), Space::kDevice));
  return copy;
}

absl::Status ValueMemory::CopyTo(const Tensor& from, const TensorView& to) const {
  return CopyBytes(from, static_cast<std::byte*>(to.data),
                   to.device == DeviceRef{} ? Space::kHost : Space::kDevice);
}

absl::StatusOr<Tensor> ValueMemory::Stack(absl::Span<const Tensor> tensors) const {
  const Tensor& first = tensors[0];
  for (const Tensor& tensor : tensors) {
    if (tensor.shape() == first.shape() && tensor.dtype() == first.dtype()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the tensors of its iterations have other dims: ",
                     ToString(absl::MakeConstSpan(first.shape())), " and ",
                     ToString(absl::MakeConstSpan(tensor.shape()))));
  }
  Dims dims = first.shape();
  dims.insert(dims.begin(), static_cast<int64_t>(tensors.size()));
  const Space space = IsOnHost(first) ? Space::kHost : Space::kDevice;
  ASSIGN_OR_RETURN(Tensor stacked, Allocate(first.dtype(), dims, space));
  if (first.dtype() == DType::kString) {
    auto* to = stacked.data<std::string>();
    for (const Tensor& tensor : tensors) {
      const auto* from = tensor.data<std::string>();
      to = std::copy(from, from + tensor.elements(), to);
    }
    return stacked;
  }
  auto* to = static_cast<std::byte*>(stacked.raw());
  for (const Tensor& tensor : tensors) {
    RETURN_IF_ERROR(CopyBytes(tensor, to, space));
    to += tensor.bytes();
  }
  return stacked;
}

absl::StatusOr<ModelValue> ValueMemory::Copy(const ModelValue& value) const {
  Tensor tensor;
  if (value.tensor().dtype() != DType::kUndefined) {
    const Tensor& from = value.tensor();
    ASSIGN_OR_RETURN(tensor, AllocateOnHost(from.dtype(), from.shape()));
    if (from.dtype() == DType::kString) {
      const auto* strings = from.data<std::string>();
      std::copy(strings, strings + from.elements(), tensor.data<std::string>());
    } else {
      RETURN_IF_ERROR(CopyBytes(from, static_cast<std::byte*>(tensor.raw()), Space::kHost));
    }
  }
  std::vector<ModelValue> elements;
  for (const ModelValue& element : value.elements()) {
    ASSIGN_OR_RETURN(ModelValue copy, Copy(element));
    elements.push_back(std::move(copy));
  }
  switch (value.kind()) {
    case ValueKind::kTensor:
      return ModelValue(std::move(tensor));
    case ValueKind::kSequence:
      return ModelValue::Sequence(std::move(elements));
    case ValueKind::kMap:
      return ModelValue::Map(std::move(tensor), std::move(elements));
    case ValueKind::kOptional:
      break;
  }
  return elements.empty() ? ModelValue::Optional() : ModelValue::Optional(std::move(elements[0]));
}

Type TypeOf(const ModelValue& value) {
  const Tensor& tensor = value.tensor();
  if (value.kind() == ValueKind::kTensor) return Type::Tensor(tensor.dtype(), tensor.shape());
  Type type;
  if (!value.elements().empty()) {
    Type element = TypeOf(value.elements()[0]);
    if (value.kind() != ValueKind::kOptional && element.is_tensor()) {
      element.ranked = false;  // the elements may have other dims
      element.dims.clear();
    }
    type.element = std::make_shared<const Type>(std::move(element));
  }
  type.kind = TypeKindOf(value.kind());
  if (value.kind() == ValueKind::kMap) type.dtype = tensor.dtype();
  return type;
}

}  // namespace onnx_cudnn
