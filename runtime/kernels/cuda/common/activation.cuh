// Computes activations (activation.h). The kind is decoded once for all numbers of a thread.
#pragma once

#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/gelu.cuh"
#include "runtime/kernels/cuda/common/rounded.cuh"
#include "runtime/kernels/cuda/pointwise/primitives.cuh"

namespace onnx_cudnn {

template <typename F, int n>
__device__ __forceinline__ void Map(float (&x)[n], F f) {
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = f(x[i]);
}

// x = f(x); Y is the type of the inner Node of kGate, to which its result is rounded.
template <typename Y, int n>
__device__ __forceinline__ void Activate(const Activation& f, float (&x)[n]) {
  using A = Activation::Kind;
  using primitives::Maximum, primitives::Minimum, primitives::Sigmoid;
  constexpr float kSqrtTwoOverPi = 0.79788456080286535588F;
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
    case A::kSilu:
      return Map(x, [](float v) { return v * Sigmoid(v); });
    case A::kGate:
      return Map(x, [](float v) { return v * Rounded<Y>(Sigmoid(v)); });
    case A::kGelu:
      return Map(x, [](float v) { return Gelu(v); });
    case A::kGeluTanh:
      return Map(x, [](float v) {
        return 0.5F * v * (1.0F + tanhf(kSqrtTwoOverPi * (v + 0.044715F * v * v * v)));
      });
#define PRIMITIVE(name, arity, ...)                                       \
  case A::k##name:                                                        \
    if constexpr (arity == 1 && IsComputedEverywhere(Primitive::k##name)) \
      return Map(x, primitives::Function<Primitive::k##name, float>());   \
    return;
#include "runtime/ops/primitives.inc"
  }
}

}  // namespace onnx_cudnn
