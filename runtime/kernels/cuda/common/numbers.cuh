// Converts elements of every dtype to numbers and back on the device, with the rounding of the
// references (runtime/ops/elements.h, saturate.h).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "onnx_cudnn/dtype.h"

namespace onnx_cudnn {

using Half = __half;
using BHalf = __nv_bfloat16;
// The element of a bool tensor: any byte but 0 is true.
struct Boolean {
  uint8_t byte;
};

template <typename T>
inline constexpr bool kIs16BitFloat = std::is_same_v<T, Half> || std::is_same_v<T, BHalf>;
template <typename T>
inline constexpr bool kIsFloat = kIs16BitFloat<T> || std::is_floating_point_v<T>;

// Rounds toward zero. Beyond i64: the value modulo 2^64 if u64 can represent it, else the lowest
// i64.
template <typename T>
__device__ __forceinline__ int64_t ToInt64(T x) {
  constexpr T kTwo63 = static_cast<T>(0x1p63), kTwo64 = static_cast<T>(0x1p64);
  if (x >= -kTwo63 && x < kTwo63) return static_cast<int64_t>(x);
  if (x >= kTwo63 && x < kTwo64) return static_cast<int64_t>(static_cast<uint64_t>(x));
  return INT64_MIN;
}

// `x` rounded to odd (inexact results get an odd last bit): rounding the result again equals
// rounding `x` once.
__device__ __forceinline__ float RoundToOdd(double x) {
  const float nearest = __double2float_rn(x);
  if (static_cast<double>(nearest) == x || x != x) return nearest;
  uint32_t bits = __float_as_uint(nearest);
  if (fabs(static_cast<double>(nearest)) > fabs(x)) --bits;
  return __uint_as_float(bits | 1);
}

// An element as a number of type T: float, double, int64_t or uint64_t.
template <typename T, typename E>
__device__ __forceinline__ T Widen(E element) {
  if constexpr (std::is_same_v<E, Boolean>) {
    return static_cast<T>(element.byte != 0);
  } else if constexpr (std::is_same_v<E, Half>) {
    return Widen<T>(__half2float(element));
  } else if constexpr (std::is_same_v<E, BHalf>) {
    return Widen<T>(__bfloat162float(element));
  } else if constexpr (std::is_floating_point_v<E> && std::is_integral_v<T>) {
    return static_cast<T>(ToInt64(element));
  } else {
    return static_cast<T>(element);
  }
}

// Converts a number to an element: floats round to nearest even, integers wrap, floats are
// truncated toward zero to integers.
template <typename E, typename T>
__device__ __forceinline__ E Narrow(T number) {
  if constexpr (std::is_same_v<E, Boolean>) {
    return Boolean{number != T{0}};
  } else if constexpr (kIs16BitFloat<E>) {
    float rounded;
    if constexpr (std::is_same_v<T, double>) {
      rounded = RoundToOdd(number);
    } else {
      rounded = static_cast<float>(number);
    }
    if constexpr (std::is_same_v<E, Half>) {
      return __float2half_rn(rounded);
    } else {
      return __float2bfloat16_rn(rounded);
    }
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<E>) {
    // A 32-bit conversion is enough if the value fits.
    if constexpr (std::is_same_v<T, float> && sizeof(E) < 8) {
      if (fabsf(number) < 0x1p31F) return static_cast<E>(static_cast<int32_t>(number));
    }
    return static_cast<E>(ToInt64(number));
  } else {
    return static_cast<E>(number);
  }
}

// Converts `number` to an integer type of at most 32 bits: ties to even; out of range saturates;
// NaN becomes the lowest value.
template <typename E>
__device__ __forceinline__ E Saturate(double number) {
  constexpr double kLowest = static_cast<double>(std::numeric_limits<E>::lowest());
  constexpr double kHighest = static_cast<double>(std::numeric_limits<E>::max());
  if (!(number > kLowest)) return std::numeric_limits<E>::lowest();
  return static_cast<E>(rint(number < kHighest ? number : kHighest));
}

// The type for sums and comparisons of elements: float for 16-bit floats, otherwise the type
// itself.
template <typename E>
using ComputeOf = std::conditional_t<kIs16BitFloat<E>, float, E>;

// f(E{}) for the element type E of `dtype` if it is one of Elements…, otherwise R{}. For code that
// selects template instances on the host.
template <typename R, typename... Elements>
struct DTypeVisitor;
template <typename R>
struct DTypeVisitor<R> {
  template <typename F>
  static R Visit(DType, F&&) {
    return R{};
  }
};

template <typename E>
constexpr DType kDTypeOf = std::is_same_v<E, float>      ? DType::kF32
                           : std::is_same_v<E, double>   ? DType::kF64
                           : std::is_same_v<E, Half>     ? DType::kF16
                           : std::is_same_v<E, BHalf>    ? DType::kBF16
                           : std::is_same_v<E, int8_t>   ? DType::kI8
                           : std::is_same_v<E, uint8_t>  ? DType::kU8
                           : std::is_same_v<E, int16_t>  ? DType::kI16
                           : std::is_same_v<E, uint16_t> ? DType::kU16
                           : std::is_same_v<E, int32_t>  ? DType::kI32
                           : std::is_same_v<E, uint32_t> ? DType::kU32
                           : std::is_same_v<E, int64_t>  ? DType::kI64
                           : std::is_same_v<E, uint64_t> ? DType::kU64
                           : std::is_same_v<E, Boolean>  ? DType::kBool
                                                         : DType::kUndefined;

template <typename R, typename First, typename... Rest>
struct DTypeVisitor<R, First, Rest...> {
  template <typename F>
  static R Visit(DType dtype, F&& f) {
    if (dtype == kDTypeOf<First>) return f(First{});
    return DTypeVisitor<R, Rest...>::Visit(dtype, f);
  }
};

// VisitFloat<KernelCall>(dtype, [&](auto e) { using E = decltype(e); return … });
template <typename R, typename F>
R VisitFloat(DType dtype, F&& f) {
  return DTypeVisitor<R, float, Half, BHalf, double>::Visit(dtype, f);
}
template <typename R, typename F>
R VisitNumber(DType dtype, F&& f) {
  return DTypeVisitor<R, float, Half, BHalf, double, int32_t, int64_t, int8_t, uint8_t, int16_t,
                      uint16_t, uint32_t, uint64_t>::Visit(dtype, f);
}
template <typename R, typename F>
R VisitFixedSize(DType dtype, F&& f) {
  return DTypeVisitor<R, float, Half, BHalf, double, int32_t, int64_t, int8_t, uint8_t, int16_t,
                      uint16_t, uint32_t, uint64_t, Boolean>::Visit(dtype, f);
}

// Element `i` of an operand whose dtype is known only at run time. Uses a switch, for parameters
// that are read once.
template <typename T>
__device__ __forceinline__ T LoadNumber(DType dtype, const void* from, int64_t i) {
  switch (dtype) {
    case DType::kF32:
      return Widen<T>(static_cast<const float*>(from)[i]);
    case DType::kF64:
      return Widen<T>(static_cast<const double*>(from)[i]);
    case DType::kF16:
      return Widen<T>(static_cast<const Half*>(from)[i]);
    case DType::kBF16:
      return Widen<T>(static_cast<const BHalf*>(from)[i]);
    case DType::kI8:
      return Widen<T>(static_cast<const int8_t*>(from)[i]);
    case DType::kU8:
      return Widen<T>(static_cast<const uint8_t*>(from)[i]);
    case DType::kI16:
      return Widen<T>(static_cast<const int16_t*>(from)[i]);
    case DType::kU16:
      return Widen<T>(static_cast<const uint16_t*>(from)[i]);
    case DType::kI32:
      return Widen<T>(static_cast<const int32_t*>(from)[i]);
    case DType::kU32:
      return Widen<T>(static_cast<const uint32_t*>(from)[i]);
    case DType::kI64:
      return Widen<T>(static_cast<const int64_t*>(from)[i]);
    case DType::kU64:
      return Widen<T>(static_cast<const uint64_t*>(from)[i]);
    default:
      return Widen<T>(static_cast<const Boolean*>(from)[i]);
  }
}

}  // namespace onnx_cudnn
