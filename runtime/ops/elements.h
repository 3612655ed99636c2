// C++ types of elements, and conversions between them that are defined for every value.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/graph/element_types.h"

namespace onnx_cudnn {

// Rounds toward zero. Beyond i64: the value modulo 2^64 if u64 can represent it, else the lowest
// i64, as on x86.
inline int64_t ToInt64(double x) {
  if (x >= -0x1p63 && x < 0x1p63) return static_cast<int64_t>(x);
  if (x >= 0x1p63 && x < 0x1p64) return static_cast<int64_t>(static_cast<uint64_t>(x));
  return std::numeric_limits<int64_t>::min();
}

// `x` rounded to odd (inexact results get an odd last bit): rounding the result again equals
// rounding `x` once.
inline float RoundToOdd(double x) {
  const float nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || std::isnan(x)) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(x)) --bits;
  return std::bit_cast<float>(bits | 1);
}

// The compute type that represents every element of E: float, double, int64_t or uint64_t.
template <typename E>
using NumberOf = std::conditional_t<
    kIsHalf<E>, float,
    std::conditional_t<
        std::is_floating_point_v<E>, E,
        std::conditional_t<std::is_same_v<E, Bool> || std::is_signed_v<E>, int64_t, uint64_t>>>;

// An element as a number of compute type T: float, double, int64_t or uint64_t.
template <typename T, typename E>
T Widen(E element) {
  if constexpr (std::is_same_v<E, Bool>) {
    return static_cast<T>(element.byte != 0);
  } else if constexpr (kIsHalf<E>) {
    return Widen<T>(ToFloat(element));
  } else if constexpr (std::is_floating_point_v<E> && std::is_integral_v<T>) {
    return static_cast<T>(ToInt64(element));
  } else {
    return static_cast<T>(element);
  }
}

// Converts a number to an element: floats round to nearest even, integers wrap, floats are
// truncated toward zero to integers.
template <typename E, typename T>
E Narrow(T number) {
  if constexpr (std::is_same_v<E, Bool>) {
    return Bool{number != 0};
  } else if constexpr (kIsHalf<E>) {
    float rounded;
    if constexpr (std::is_same_v<T, double>) {
      rounded = RoundToOdd(number);
    } else {
      rounded = static_cast<float>(number);
    }
    if constexpr (std::is_same_v<E, Float16>) {
      return ToFloat16(rounded);
    } else {
      return ToBFloat16(rounded);
    }
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<E>) {
    return static_cast<E>(ToInt64(number));
  } else {
    return static_cast<E>(number);
  }
}

}  // namespace onnx_cudnn
