#include "runtime/graph/host_tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/element_types.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 64;

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
  const bool is_integer = kIntegerTypes.Has(tensor.dtype()) || tensor.dtype() == DType::kBool;
  if (!is_integer) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of ", NameOf(tensor.dtype()),
                                                   " is given where integers are expected"));
  }
  return VisitElementType(tensor.dtype(), [&](auto element) {
    using E = decltype(element);
    using Integer = std::conditional_t<std::is_integral_v<E>, E, uint8_t>;  // of a bool, its byte
    const absl::Span<const Integer> data = tensor.data<Integer>();
    return std::vector<int64_t>(data.begin(), data.end());
  });
}

}  // namespace onnx_cudnn
