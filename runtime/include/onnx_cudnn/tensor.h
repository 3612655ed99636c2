// Tensors in the caller's memory, and tensors that own their memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "onnx_cudnn/dtype.h"
#include "onnx_cudnn/export.h"
#include "onnx_cudnn/result.h"

namespace onnx_cudnn {

enum class DeviceKind : uint8_t { kCpu = 1, kCuda = 2 };  // numbered as DLPack's DLDeviceType

struct DeviceRef {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = 0;
};
inline bool operator==(const DeviceRef& a, const DeviceRef& b) {
  return a.kind == b.kind && a.ordinal == b.ordinal;
}
inline bool operator!=(const DeviceRef& a, const DeviceRef& b) { return !(a == b); }

// The caller's memory, in the terms of DLPack. It must outlive the call that takes it; for Bind,
// the Binding.
struct TensorView {
  // Aligned to an element; may be null if there are no elements. Inputs are only read. Strings are
  // std::string objects.
  void* data = nullptr;
  DType dtype = DType::kUndefined;
  std::vector<int64_t> shape;
  // In elements; empty: row-major. InvalidArgument if not row-major.
  std::vector<int64_t> strides;
  DeviceRef device;
};

// A view of row-major host memory; T is float, double, bool, an integer or std::string.
template <typename T>
TensorView View(const T* data, std::vector<int64_t> shape);

// A tensor argument, by name or by position among the model's inputs or outputs. One call uses
// either names or positions throughout.
struct NamedView {
  NamedView(TensorView view) : view(std::move(view)) {}  // NOLINT: Run({View(…)})
  NamedView(std::string name, TensorView view) : name(std::move(name)), view(std::move(view)) {}
  std::string name;  // empty: by position
  TensorView view;
};

// Owns row-major elements in host memory, 64-byte aligned, or in memory of a Session's device,
// 256-byte aligned. Copies share the bytes.
class ONNX_CUDNN_API Tensor {
 public:
  Tensor() = default;  // dtype kUndefined, no bytes
  // Uninitialized; strings are empty. InvalidArgument: a negative extent, more bytes than 2^63, no
  // dtype.
  static Result<Tensor> Allocate(DType dtype, std::vector<int64_t> shape);
  // Memory of the caller, row-major, that `owner` keeps alive; null: it outlives the tensor.
  static Tensor Borrow(const TensorView& view, const std::shared_ptr<void>& owner = nullptr);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const;
  int64_t bytes() const;  // 0 for strings
  const DeviceRef& device() const { return device_; }
  void* raw() const { return data_.get(); }
  template <typename T>
  T* data() const {  // T as in View; 16-bit floats as uint16_t
    return static_cast<T*>(raw());
  }
  TensorView view() const { return {raw(), dtype_, shape_, {}, device_}; }

 private:
  friend class Session;
  friend struct TensorMaker;  // of the runtime
  DeviceRef device_;
  DType dtype_ = DType::kUndefined;
  std::vector<int64_t> shape_;
  std::shared_ptr<void> data_;
};

namespace session_internal {
template <typename T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kF64;
  else if constexpr (std::is_same_v<T, std::string>)
    return DType::kString;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "no dtype has this C++ type");
    constexpr DType kSigned[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
    constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
    constexpr int kLog2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? kSigned[kLog2] : kUnsigned[kLog2];
  }
}
}  // namespace session_internal

template <typename T>
TensorView View(const T* data, std::vector<int64_t> shape) {
  return {const_cast<T*>(data), session_internal::DTypeOf<T>(), std::move(shape), {}, {}};
}

}  // namespace onnx_cudnn
