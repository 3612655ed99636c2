#include "runtime/graph/host_tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 64;

template <typename T>
std::vector<int64_t> Widen(const HostTensor& tensor) {
  absl::Span<const T> data = tensor.data<T>();
  return {data.begin(), data.end()};
}

}  // namespace

HostTensor HostTensor::Allocate(DType dtype, Dims dims) {
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  const int64_t rounded =
      (tensor.bytes() / kAlignment + 1) * kAlignment;  // never null, even if empty
  void* data = std::aligned_alloc(kAlignment, rounded);
  if (data == nullptr) throw std::bad_alloc();
  tensor.data_ = data;
  tensor.owner_ = std::shared_ptr<void>(data, std::free);
  return tensor;
}

HostTensor HostTensor::Borrow(DType dtype, Dims dims, const void* data,
                              std::shared_ptr<const void> owner) {
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

HostTensor HostTensor::Strings(Dims dims, std::vector<std::string> values) {
  HostTensor tensor;
  tensor.dtype_ = DType::kString;
  tensor.dims_ = std::move(dims);
  CHECK_EQ(static_cast<int64_t>(values.size()), tensor.elements());
  tensor.strings_ = std::make_shared<const std::vector<std::string>>(std::move(values));
  return tensor;
}

HostTensor HostTensor::Ints(absl::Span<const int64_t> values) {
  return Of<int64_t>(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

HostTensor HostTensor::Reshaped(Dims dims) const {
  CHECK_EQ(ElementsOf(dims), elements());
  HostTensor tensor = *this;
  tensor.dims_ = std::move(dims);
  return tensor;
}

bool SameContent(const HostTensor& a, const HostTensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.dtype() == DType::kString) return a.strings() == b.strings();
  return a.bytes() == 0 || a.raw() == b.raw() || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

absl::StatusOr<std::vector<int64_t>> ToInts(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kBool:
    case DType::kU8:
      return Widen<uint8_t>(tensor);
    case DType::kI8:
      return Widen<int8_t>(tensor);
    case DType::kU16:
      return Widen<uint16_t>(tensor);
    case DType::kI16:
      return Widen<int16_t>(tensor);
    case DType::kU32:
      return Widen<uint32_t>(tensor);
    case DType::kI32:
      return Widen<int32_t>(tensor);
    case DType::kU64:
      return Widen<uint64_t>(tensor);
    case DType::kI64:
      return Widen<int64_t>(tensor);
    default:
      return absl::InvalidArgumentError(absl::StrCat("a tensor of ", NameOf(tensor.dtype()),
                                                     " is given where integers are expected"));
  }
}

}  // namespace onnx_cudnn
