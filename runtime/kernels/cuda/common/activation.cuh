// Computes activations (activation.h) of several numbers of a thread: which one is asked once for
// all of them.
#pragma once

#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/rounded.cuh"
#include "runtime/kernels/cuda/pointwise/pointwise_codes.cuh"

namespace onnx_cudnn {

template <typename F, int n>
__device__ __forceinline__ void Map(float (&x)[n], F f) {
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = f(x[i]);
}

// x = f(x); Y is the type of kGate's inner Node.
template <typename Y, int n>
__device__ __forceinline__ void Activate(const Activation& f, float (&x)[n]) {
  using A = Activation::Kind;
  constexpr float kSqrtHalf = 0.70710678118654752440F, kSqrtTwoOverPi = 0.79788456080286535588F;
  const float first = f.first, second = f.second;
  switch (f.kind) {
    case A::kNone:
      return;
    case A::kRelu:
      return Map(x, [](float v) { return Maximum(v, 0.0F); });
    case A::kLeaky:
      return Map(x, [=](float v) { return v < 0 ? first * v : v; });
    case A::kClip:
      return Map(x, [=](float v) { return Minimum(Maximum(v, first), second); });
    case A::kHardSigmoid:
      return Map(x, [=](float v) { return Maximum(Minimum(first * v + second, 1.0F), 0.0F); });
    case A::kHardSwish:
      return Map(x, [](float v) {
        constexpr float kSixth = 1.0F / 6.0F;
        return v * Maximum(Minimum(v * kSixth + 0.5F, 1.0F), 0.0F);
      });
    case A::kSigmoid:
      return Map(x, [](float v) { return SigmoidOf(v); });
    case A::kSilu:
      return Map(x, [](float v) { return v * SigmoidOf(v); });
    case A::kGate:
      return Map(x, [](float v) { return v * Rounded<Y>(SigmoidOf(v)); });
    case A::kTanh:
      return Map(x, [](float v) { return tanhf(v); });
    case A::kGelu:
      return Map(x, [](float v) { return 0.5F * v * (1.0F + erff(v * kSqrtHalf)); });
    case A::kGeluTanh:
      return Map(x, [](float v) {
        return 0.5F * v * (1.0F + tanhf(kSqrtTwoOverPi * (v + 0.044715F * v * v * v)));
      });
    case A::kErf:
      return Map(x, [](float v) { return erff(v); });
    case A::kExp:
      return Map(x, [](float v) { return expf(v); });
    case A::kLog:
      return Map(x, [](float v) { return logf(v); });
    case A::kSqrt:
      return Map(x, [](float v) { return sqrtf(v); });
    case A::kNeg:
      return Map(x, [](float v) { return -v; });
    case A::kAbs:
      return Map(x, [](float v) { return fabsf(v); });
  }
}

}  // namespace onnx_cudnn
