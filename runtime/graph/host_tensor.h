#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/types.h"

namespace onnx_cudnn {

// Dense row-major elements in host memory, or strings. Copies share the bytes, which are immutable
// once shared.
class HostTensor {
 public:
  HostTensor() = default;  // dtype kUndefined, no bytes

  // Uninitialized, 64-byte aligned; any dtype but kString. Throws std::bad_alloc.
  static HostTensor Allocate(DType dtype, Dims dims);
  // A view of bytes that `owner` keeps alive (a mapped file, a parsed message), aligned at least to
  // an element.
  static HostTensor Borrow(DType dtype, Dims dims, const void* data,
                           std::shared_ptr<const void> owner);
  static HostTensor Strings(Dims dims, std::vector<std::string> values);
  // T is the C++ type of the elements: float, int64_t, Float16, …; bool for kBool.
  template <typename T>
  static HostTensor Of(DType dtype, Dims dims, absl::Span<const T> values);
  static HostTensor Ints(absl::Span<const int64_t> values);  // i64[n]

  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  int64_t elements() const { return ElementsOf(dims_); }
  int64_t bytes() const { return BytesOf(dtype_, elements()); }
  bool defined() const { return dtype_ != DType::kUndefined; }

  const void* raw() const { return data_; }
  // Only for the code that just allocated it.
  void* mutable_raw() { return const_cast<void*>(data_); }
  template <typename T>
  absl::Span<const T> data() const {
    return {static_cast<const T*>(data_), static_cast<size_t>(elements())};
  }
  template <typename T>
  absl::Span<T> mutable_data() {
    return {static_cast<T*>(mutable_raw()), static_cast<size_t>(elements())};
  }
  const std::vector<std::string>& strings() const { return *strings_; }

  HostTensor Reshaped(Dims dims) const;  // shares the bytes; the element count must agree

 private:
  DType dtype_ = DType::kUndefined;
  Dims dims_;
  const void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const std::vector<std::string>> strings_;
};

// Whether dtype, dims and bytes are equal.
bool SameContent(const HostTensor& a, const HostTensor& b);
// The elements of an integer or bool tensor; InvalidArgument for other dtypes.
absl::StatusOr<std::vector<int64_t>> ToInts(const HostTensor& tensor);

template <typename T>
HostTensor HostTensor::Of(DType dtype, Dims dims, absl::Span<const T> values) {
  HostTensor tensor = Allocate(dtype, std::move(dims));
  std::copy(values.begin(), values.end(), static_cast<T*>(tensor.mutable_raw()));
  return tensor;
}

}  // namespace onnx_cudnn
