// Functions in the expressions of primitives.inc that are shared by host and GPU: nvcc compiles
// constexpr functions for both. T is float, double, int64_t or uint64_t.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace onnx_cudnn::primitives {

template <typename T>
constexpr bool IsNegative(T a) {
  if constexpr (std::is_unsigned_v<T>) {
    return false;
  } else {
    return a < T{0};
  }
}

// f on the integers converted to unsigned, so that overflow wraps instead of being undefined.
template <typename T, typename F>
constexpr T Wrapping(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
}

template <typename T>
constexpr T Sum(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x + y; });
}
template <typename T>
constexpr T Difference(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x - y; });
}
template <typename T>
constexpr T Product(T a, T b) {
  return Wrapping(a, b, [](auto x, auto y) { return x * y; });
}

template <typename T>
constexpr T Negated(T a) {
  if constexpr (std::is_floating_point_v<T>) {
    return -a;
  } else {
    return Difference(T{0}, a);
  }
}

template <typename T>
constexpr T Absolute(T a) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(a);
  } else {
    return IsNegative(a) ? Negated(a) : a;
  }
}

template <typename T>
constexpr T SignOf(T a) {
  return a > T{0} ? T{1} : IsNegative(a) ? T(-1) : a;
}

template <typename T>
constexpr T Quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return Negated(a);
    }
    return a / b;
  }
}

template <typename T>
constexpr T TruncRemainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return T{0};
    return a % b;
  }
}

template <typename T>
constexpr T FloorRemainder(T a, T b) {
  const T rest = TruncRemainder(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    if (rest == T{0}) return std::copysign(rest, b);
  }
  return rest != T{0} && IsNegative(rest) != IsNegative(b) ? rest + b : rest;
}

// Integer power of an integer.
template <typename T>
constexpr T IntegerPower(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == T(-1)) return exponent % 2 == 0 ? 1 : -1;
      return base == 1 ? 1 : 0;
    }
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (uint64_t e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <typename T>
constexpr T ShiftedLeft(T a, T b) {
  const uint64_t by = static_cast<uint64_t>(b);
  return by < 64 ? static_cast<T>(static_cast<uint64_t>(a) << by) : T{0};
}
template <typename T>
constexpr T ShiftedRight(T a, T b) {
  const uint64_t by = static_cast<uint64_t>(b);
  if (by < 64) return a >> by;
  return IsNegative(a) ? T(-1) : T{0};
}

}  // namespace onnx_cudnn::primitives
