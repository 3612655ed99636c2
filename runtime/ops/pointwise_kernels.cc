#include "runtime/ops/pointwise_kernels.h"

#include <cmath>
#include <type_traits>

#include "absl/log/log.h"
#include "runtime/ops/float_math.h"

namespace onnx_cudnn {
namespace {

// The loops may write over an argument at the same index, which ivdep lets the compiler vectorize.
template <typename T, typename F>
void Map(const std::array<const T*, 3>& args, T* out, int64_t n, F f) {
  const T *a = args[0], *b = args[1], *c = args[2];
  if constexpr (std::is_invocable_v<F, T>) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i]);
  } else if constexpr (std::is_invocable_v<F, T, T>) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i], c[i]);
  }
}

template <typename T>
constexpr bool kFloating = std::is_floating_point_v<T>;

// Signed overflow wraps instead of being undefined.
template <typename T, typename F>
T Wrapping(T a, T b, F f) {
  if constexpr (kFloating<T>) {
    return f(a, b);
  } else {
    return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
}

template <typename T>
T Negate(T a) {
  if constexpr (kFloating<T>) return -a;
  return Wrapping(T{0}, a, [](auto x, auto y) { return x - y; });
}

template <typename T>
T Absolute(T a) {
  if constexpr (kFloating<T>) return std::abs(a);
  if constexpr (std::is_unsigned_v<T>) return a;
  return a < T{0} ? Negate(a) : a;
}

template <typename T>
T Sign(T a) {
  if constexpr (std::is_unsigned_v<T>) return a != 0;
  return a > T{0} ? T{1} : a < T{0} ? T(-1) : a;
}

template <typename T>
T Divide(T a, T b) {
  if constexpr (kFloating<T>) return a / b;
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return Negate(a);
  }
  return a / b;
}

template <typename T>
T TruncMod(T a, T b) {
  if constexpr (kFloating<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0 || b == T(-1)) return std::is_signed_v<T> || b == 0 ? T{0} : a % b;
    return a % b;
  }
}

template <typename T>
T FloorMod(T a, T b) {
  const T rest = TruncMod(a, b);
  if constexpr (std::is_unsigned_v<T>) return rest;
  if constexpr (kFloating<T>) {
    if (rest == T{0}) return std::copysign(rest, b);
  }
  return rest != T{0} && (rest < T{0}) != (b < T{0}) ? rest + b : rest;
}

template <typename T>
T IntegerPower(T base, T exponent) {
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
T Power(T a, T b) {
  if constexpr (kFloating<T>) {
    return b == T{2} ? a * a : std::pow(a, b);
  } else {
    return IntegerPower(a, b);
  }
}

template <typename T>
T Maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <typename T>
T Minimum(T a, T b) {
  return a < b || a != a ? a : b;
}

template <typename T>
void RunCommon(Primitive primitive, const std::array<const T*, 3>& args, T* out, int64_t n) {
  const auto map = [&](auto f) { Map(args, out, n, f); };
  const auto wrapping = [&](auto f) { map([f](T a, T b) { return Wrapping(a, b, f); }); };
  switch (primitive) {
    case Primitive::kAbs:
      return map([](T a) { return Absolute(a); });
    case Primitive::kNeg:
      return map([](T a) { return Negate(a); });
    case Primitive::kNot:
      return map([](T a) { return T(a == T{0}); });
    case Primitive::kSign:
      return map([](T a) { return Sign(a); });
    case Primitive::kAdd:
      return wrapping([](auto a, auto b) { return a + b; });
    case Primitive::kSub:
      return wrapping([](auto a, auto b) { return a - b; });
    case Primitive::kMul:
      return wrapping([](auto a, auto b) { return a * b; });
    case Primitive::kDiv:
      return map([](T a, T b) { return Divide(a, b); });
    case Primitive::kPow:
      return map([](T a, T b) { return Power(a, b); });
    case Primitive::kFloorMod:
      return map([](T a, T b) { return FloorMod(a, b); });
    case Primitive::kTruncMod:
      return map([](T a, T b) { return TruncMod(a, b); });
    case Primitive::kMax:
      return map([](T a, T b) { return Maximum(a, b); });
    case Primitive::kMin:
      return map([](T a, T b) { return Minimum(a, b); });
    case Primitive::kEqual:
      return map([](T a, T b) { return T(a == b); });
    case Primitive::kLess:
      return map([](T a, T b) { return T(a < b); });
    case Primitive::kLessOrEqual:
      return map([](T a, T b) { return T(a <= b); });
    case Primitive::kAnd:
      return map([](T a, T b) { return T((a != T{0}) & (b != T{0})); });
    case Primitive::kOr:
      return map([](T a, T b) { return T((a != T{0}) | (b != T{0})); });
    case Primitive::kXor:
      return map([](T a, T b) { return T((a != T{0}) != (b != T{0})); });
    case Primitive::kSelect:
      return map([](T a, T b, T c) { return a != T{0} ? b : c; });
    default:
      LOG(FATAL) << "primitive " << static_cast<int>(primitive)
                 << " on a type it is not defined on";
  }
}

template <typename T>
void RunFloating(Primitive primitive, const std::array<const T*, 3>& args, T* out, int64_t n) {
  const auto map = [&](auto f) { Map(args, out, n, f); };
  switch (primitive) {
    case Primitive::kCeil:
      return map([](T a) { return std::ceil(a); });
    case Primitive::kFloor:
      return map([](T a) { return std::floor(a); });
    case Primitive::kRound:
      return map([](T a) { return std::nearbyint(a); });
    case Primitive::kSqrt:
      return map([](T a) { return std::sqrt(a); });
    case Primitive::kExp:
      return map([](T a) { return std::exp(a); });
    case Primitive::kExpm1:
      return map([](T a) { return std::expm1(a); });
    case Primitive::kLog:
      return map([](T a) { return std::log(a); });
    case Primitive::kLog1p:
      return map([](T a) { return std::log1p(a); });
    case Primitive::kSin:
      return map([](T a) { return std::sin(a); });
    case Primitive::kCos:
      return map([](T a) { return std::cos(a); });
    case Primitive::kTan:
      return map([](T a) { return std::tan(a); });
    case Primitive::kAsin:
      return map([](T a) { return std::asin(a); });
    case Primitive::kAcos:
      return map([](T a) { return std::acos(a); });
    case Primitive::kAtan:
      return map([](T a) { return std::atan(a); });
    case Primitive::kSinh:
      return map([](T a) { return std::sinh(a); });
    case Primitive::kCosh:
      return map([](T a) { return std::cosh(a); });
    case Primitive::kTanh:
      return map([](T a) { return std::tanh(a); });
    case Primitive::kAsinh:
      return map([](T a) { return std::asinh(a); });
    case Primitive::kAcosh:
      return map([](T a) { return std::acosh(a); });
    case Primitive::kAtanh:
      return map([](T a) { return std::atanh(a); });
    case Primitive::kErf:
      return map([](T a) { return std::erf(a); });
    case Primitive::kSigmoid:
      return map([](T a) { return T{1} / (T{1} + std::exp(-a)); });
    default:
      return RunCommon(primitive, args, out, n);
  }
}

// The primitives that have a vectorized form; the others as for every floating point type.
void RunFloat(Primitive primitive, const std::array<const float*, 3>& args, float* out, int64_t n) {
  switch (primitive) {
    case Primitive::kExp:
      return ExpOf(args[0], out, n);
    case Primitive::kSigmoid:
      return SigmoidOf(args[0], out, n);
    case Primitive::kTanh:
      return TanhOf(args[0], out, n);
    case Primitive::kErf:
      return ErfOf(args[0], out, n);
    case Primitive::kSqrt:
      return SqrtOf(args[0], out, n);
    case Primitive::kFloor:
      return FloorOf(args[0], out, n);
    case Primitive::kCeil:
      return CeilOf(args[0], out, n);
    case Primitive::kRound:
      return RoundOf(args[0], out, n);
    default:
      return RunFloating(primitive, args, out, n);
  }
}

constexpr uint64_t kBits = 64;  // of int64_t and uint64_t

template <typename T>
T ShiftLeft(T a, T b) {
  const uint64_t by = static_cast<uint64_t>(b);
  return by < kBits ? static_cast<T>(static_cast<uint64_t>(a) << by) : T{0};
}

template <typename T>
T ShiftRight(T a, T b) {
  const uint64_t by = static_cast<uint64_t>(b);
  if (by < kBits) return a >> by;
  return std::is_signed_v<T> && a < T{0} ? T(-1) : T{0};
}

template <typename T>
void RunInteger(Primitive primitive, const std::array<const T*, 3>& args, T* out, int64_t n) {
  const auto map = [&](auto f) { Map(args, out, n, f); };
  switch (primitive) {
    case Primitive::kBitAnd:
      return map([](T a, T b) { return a & b; });
    case Primitive::kBitOr:
      return map([](T a, T b) { return a | b; });
    case Primitive::kBitXor:
      return map([](T a, T b) { return a ^ b; });
    case Primitive::kShiftLeft:
      return map([](T a, T b) { return ShiftLeft(a, b); });
    case Primitive::kShiftRight:
      return map([](T a, T b) { return ShiftRight(a, b); });
    default:
      return RunCommon(primitive, args, out, n);
  }
}

}  // namespace

template <typename T>
void RunPrimitive(Primitive primitive, const std::array<const T*, 3>& args, T* out, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    RunFloat(primitive, args, out, n);
  } else if constexpr (kFloating<T>) {
    RunFloating(primitive, args, out, n);
  } else {
    RunInteger(primitive, args, out, n);
  }
}
template void RunPrimitive(Primitive, const std::array<const float*, 3>&, float*, int64_t);
template void RunPrimitive(Primitive, const std::array<const double*, 3>&, double*, int64_t);
template void RunPrimitive(Primitive, const std::array<const int64_t*, 3>&, int64_t*, int64_t);
template void RunPrimitive(Primitive, const std::array<const uint64_t*, 3>&, uint64_t*, int64_t);

}  // namespace onnx_cudnn
