// The C++ types of elements.
#pragma once

#include <cstdint>
#include <type_traits>

#include "absl/log/check.h"
#include "runtime/graph/float16.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

// The element of a bool tensor: any byte but 0 is true.
struct Bool {
  uint8_t byte = 0;
};

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Calls f(E{}) with the C++ element type of `dtype`, which must be one of kFixedSizeTypes.
template <typename F>
decltype(auto) VisitElementType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kF16:
      return f(Float16{});
    case DType::kBF16:
      return f(BFloat16{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kU16:
      return f(uint16_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU64:
      return f(uint64_t{});
    default:
      CHECK(dtype == DType::kBool) << NameOf(dtype) << " has no fixed-size element";
      return f(Bool{});
  }
}

}  // namespace onnx_cudnn
