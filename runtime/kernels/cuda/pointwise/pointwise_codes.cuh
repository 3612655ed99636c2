// What the instructions of the element-wise machine compute, lane by lane, as the primitives of
// runtime/ops/pointwise.h say.
#pragma once

#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

template <typename T>
__device__ __forceinline__ T Maximum(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
  } else {
    return a > b || a != a ? a : b;
  }
}
template <typename T>
__device__ __forceinline__ T Minimum(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    float smaller;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
    return smaller;
  } else {
    return a < b || a != a ? a : b;
  }
}

template <typename T>
__device__ __forceinline__ bool IsNegative(T a) {
  if constexpr (std::is_unsigned_v<T>) {
    return false;
  } else {
    return a < T{0};
  }
}

template <typename T>
__device__ __forceinline__ T Negated(T a) {
  if constexpr (std::is_floating_point_v<T>) return -a;
  return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
}

template <typename T>
__device__ __forceinline__ T Quotient(T a, T b) {
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
__device__ __forceinline__ T TruncRemainder(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return fmodf(a, b);
  } else if constexpr (std::is_same_v<T, double>) {
    return fmod(a, b);
  } else {
    if (b == 0 || (std::is_signed_v<T> && b == T(-1))) return T{0};
    return a % b;
  }
}

template <typename T>
__device__ __forceinline__ T FloorRemainder(T a, T b) {
  const T rest = TruncRemainder(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    if (rest == T{0}) return copysign(rest, b);
  }
  return rest != T{0} && IsNegative(rest) != IsNegative(b) ? rest + b : rest;
}

// Roots and small whole exponents are exact where the result is a number of T: pow is some units in
// the last place off, and an integer result would be one less.
template <typename T>
__device__ __forceinline__ T FloatPower(T base, T exponent) {
  constexpr int kMostWhole = 32;
  if (exponent == T{0.5} && base >= T{0}) return static_cast<T>(sqrt(base)) + T{0};  // not -0
  if (exponent == trunc(exponent) && fabs(exponent) <= T{kMostWhole}) {
    double result = 1, square = static_cast<double>(base);
    for (int e = abs(static_cast<int>(exponent)); e != 0; e >>= 1) {
      if (e & 1) result *= square;
      square *= square;
    }
    return static_cast<T>(exponent < T{0} ? 1 / result : result);
  }
  if constexpr (std::is_same_v<T, float>) return powf(base, exponent);
  return pow(base, exponent);
}

template <typename T>
__device__ __forceinline__ T Power(T base, T exponent) {
  if constexpr (std::is_floating_point_v<T>) {
    return FloatPower(base, exponent);
  } else {
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
}

// Integers of 64 bits; by less than 0 or more than 63 all bits are shifted out.
template <typename T>
__device__ __forceinline__ T ShiftedLeft(T a, T b) {
  const uint64_t by = static_cast<uint64_t>(b);
  return by < 64 ? static_cast<T>(static_cast<uint64_t>(a) << by) : T{0};
}
template <typename T>
__device__ __forceinline__ T ShiftedRight(T a, T b) {
  const uint64_t by = static_cast<uint64_t>(b);
  if (by < 64) return a >> by;
  return IsNegative(a) ? T(-1) : T{0};
}

// e^-x beyond the largest number is infinity, its reciprocal 0.
// __fdividef and __expf without what they do for subnormals: of those neither comes here.
__device__ __forceinline__ float SigmoidOf(float x) {
  constexpr float kLog2E = 1.4426950408889634F;
  float e, sigmoid;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(-x * kLog2E));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(sigmoid) : "f"(1.0F + e));
  return sigmoid;
}
__device__ __forceinline__ double SigmoidOf(double x) { return 1.0 / (1.0 + exp(-x)); }

// Sums and products wrap where T is an integer.
template <typename T, typename F>
__device__ __forceinline__ T Wrapping(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
}

// Codes that floating point types alone have; false: `code` is none of them.
template <bool kRare, typename T, int n>
__device__ __forceinline__ bool ComputeFloating(PointwiseCode code, T (&a)[n], const T (&b)[n]) {
  const auto map = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = f(a[i]);
    return true;
  };
  switch (code) {
    case PointwiseCode::kCeil:
      return map([](T x) { return ceil(x); });
    case PointwiseCode::kFloor:
      return map([](T x) { return floor(x); });
    case PointwiseCode::kRound:
      return map([](T x) { return rint(x); });
    case PointwiseCode::kSqrt:
      return map([](T x) { return sqrt(x); });
    case PointwiseCode::kExp:
      return map([](T x) { return exp(x); });
    case PointwiseCode::kLog:
      return map([](T x) { return log(x); });
    case PointwiseCode::kTanh:
      return map([](T x) { return tanh(x); });
    case PointwiseCode::kErf:
      return map([](T x) { return erf(x); });
    case PointwiseCode::kSigmoid:
      return map([](T x) { return SigmoidOf(x); });
    default:
      break;
  }
  if constexpr (kRare) {
    switch (code) {
      case PointwiseCode::kExpm1:
        return map([](T x) { return expm1(x); });
      case PointwiseCode::kLog1p:
        return map([](T x) { return log1p(x); });
      case PointwiseCode::kSin:
        return map([](T x) { return sin(x); });
      case PointwiseCode::kCos:
        return map([](T x) { return cos(x); });
      case PointwiseCode::kTan:
        return map([](T x) { return tan(x); });
      case PointwiseCode::kAsin:
        return map([](T x) { return asin(x); });
      case PointwiseCode::kAcos:
        return map([](T x) { return acos(x); });
      case PointwiseCode::kAtan:
        return map([](T x) { return atan(x); });
      case PointwiseCode::kSinh:
        return map([](T x) { return sinh(x); });
      case PointwiseCode::kCosh:
        return map([](T x) { return cosh(x); });
      case PointwiseCode::kAsinh:
        return map([](T x) { return asinh(x); });
      case PointwiseCode::kAcosh:
        return map([](T x) { return acosh(x); });
      case PointwiseCode::kAtanh:
        return map([](T x) { return atanh(x); });
      default:
        break;
    }
  }
  return false;
}

template <bool kRare, typename T, int n>
__device__ __forceinline__ bool ComputeInteger(PointwiseCode code, T (&a)[n], const T (&b)[n]) {
  const auto map = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = f(a[i], b[i]);
    return true;
  };
  switch (code) {
    case PointwiseCode::kBitAnd:
      return map([](T x, T y) { return x & y; });
    case PointwiseCode::kBitOr:
      return map([](T x, T y) { return x | y; });
    case PointwiseCode::kBitXor:
      return map([](T x, T y) { return x ^ y; });
    default:
      break;
  }
  if constexpr (kRare) {
    if (code == PointwiseCode::kShiftLeft) {
      return map([](T x, T y) { return ShiftedLeft(x, y); });
    }
    if (code == PointwiseCode::kShiftRight) {
      return map([](T x, T y) { return ShiftedRight(x, y); });
    }
  }
  return false;
}

// a[i] = code(a[i], b[i]); `number` instead of b for the codes that say so.
template <bool kRare, typename T, int n>
__device__ __forceinline__ void Compute(PointwiseCode code, T (&a)[n], const T (&b)[n], T number) {
  const auto map = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = f(a[i], b[i]);
  };
  const auto wrapping = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = Wrapping(a[i], b[i], f);
  };
  const auto with_number = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = f(a[i], number);
  };
  switch (code) {
    case PointwiseCode::kMove:
      return map([](T, T y) { return y; });
    case PointwiseCode::kAddNumber:
      return with_number(
          [](T x, T y) { return Wrapping(x, y, [](auto p, auto q) { return p + q; }); });
    case PointwiseCode::kMulNumber:
      return with_number(
          [](T x, T y) { return Wrapping(x, y, [](auto p, auto q) { return p * q; }); });
    case PointwiseCode::kMaxNumber:
      return with_number([](T x, T y) { return Maximum(x, y); });
    case PointwiseCode::kMinNumber:
      return with_number([](T x, T y) { return Minimum(x, y); });
    case PointwiseCode::kLeaky:
      return with_number([](T x, T y) {
        return IsNegative(x) ? Wrapping(x, y, [](auto p, auto q) { return p * q; }) : x;
      });
    case PointwiseCode::kAbs:
      if constexpr (std::is_floating_point_v<T>) {
        return map([](T x, T) { return fabs(x); });
      } else {
        return map([](T x, T) { return IsNegative(x) ? Negated(x) : x; });
      }
    case PointwiseCode::kNeg:
      return map([](T x, T) { return Negated(x); });
    case PointwiseCode::kNot:
      return map([](T x, T) { return T(x == T{0}); });
    case PointwiseCode::kSign:
      return map([](T x, T) { return x > T{0} ? T{1} : IsNegative(x) ? T(-1) : x; });
    case PointwiseCode::kAdd:
      return wrapping([](auto x, auto y) { return x + y; });
    case PointwiseCode::kSub:
      return wrapping([](auto x, auto y) { return x - y; });
    case PointwiseCode::kSubReversed:
      return wrapping([](auto x, auto y) { return y - x; });
    case PointwiseCode::kMul:
      return wrapping([](auto x, auto y) { return x * y; });
    case PointwiseCode::kDiv:
      return map([](T x, T y) { return Quotient(x, y); });
    case PointwiseCode::kDivReversed:
      return map([](T x, T y) { return Quotient(y, x); });
    case PointwiseCode::kMax:
      return map([](T x, T y) { return Maximum(x, y); });
    case PointwiseCode::kMin:
      return map([](T x, T y) { return Minimum(x, y); });
    case PointwiseCode::kEqual:
      return map([](T x, T y) { return T(x == y); });
    case PointwiseCode::kLess:
      return map([](T x, T y) { return T(x < y); });
    case PointwiseCode::kGreater:
      return map([](T x, T y) { return T(x > y); });
    case PointwiseCode::kLessOrEqual:
      return map([](T x, T y) { return T(x <= y); });
    case PointwiseCode::kGreaterOrEqual:
      return map([](T x, T y) { return T(x >= y); });
    case PointwiseCode::kAnd:
      return map([](T x, T y) { return T((x != T{0}) & (y != T{0})); });
    case PointwiseCode::kOr:
      return map([](T x, T y) { return T((x != T{0}) | (y != T{0})); });
    case PointwiseCode::kXor:
      return map([](T x, T y) { return T((x != T{0}) != (y != T{0})); });
    default:
      break;
  }
  if constexpr (kRare) {
    if (code == PointwiseCode::kPow) return map([](T x, T y) { return Power(x, y); });
    if (code == PointwiseCode::kFloorMod) {
      return map([](T x, T y) { return FloorRemainder(x, y); });
    }
    if (code == PointwiseCode::kTruncMod) {
      return map([](T x, T y) { return TruncRemainder(x, y); });
    }
  }
  if constexpr (std::is_floating_point_v<T>) {
    ComputeFloating<kRare>(code, a, b);
  } else {
    ComputeInteger<kRare>(code, a, b);
  }
}

}  // namespace onnx_cudnn
