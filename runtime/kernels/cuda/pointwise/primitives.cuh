// The primitives on the device: the functions that differ from the host's, and the expressions of
// runtime/ops/primitives.inc.
#pragma once

#include "runtime/kernels/cuda/common/exp2.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/ops/primitive_math.h"
#include "runtime/ops/primitives.h"

namespace onnx_cudnn::primitives {

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

// Square roots and small integer exponents are computed exactly: pow may be off by some units in
// the last place, which would make an integer result one too small.
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
    return IntegerPower(base, exponent);
  }
}

// __expf and __fdividef without the handling of subnormals, which cannot occur here. If e^-x is
// infinite, its reciprocal is 0.
__device__ __forceinline__ float Sigmoid(float x) {
  float sigmoid;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(sigmoid) : "f"(1.0F + Exp2(-x * kLog2E)));
  return sigmoid;
}
__device__ __forceinline__ double Sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

// primitive(a, …).
template <Primitive primitive, typename T>
struct Function {
  __device__ __forceinline__ T operator()(T a, [[maybe_unused]] T b = {},
                                          [[maybe_unused]] T c = {}) const {
#define PRIMITIVE(name, arity, types, cost, executors, expression, cudnn_mode) \
  if constexpr (primitive == Primitive::k##name) return expression;
#include "runtime/ops/primitives.inc"
  }
};

}  // namespace onnx_cudnn::primitives
