// Element-wise Nodes of the forms that networks are full of, y = f(a ∘ b), without a program. Host
// (simple_form.cc) and device (pointwise_simple.cu) share this.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

enum class SimpleJoin : uint8_t { kNone, kAdd, kSub, kMul, kDiv, kMax, kMin };

enum class SimpleOperand : uint8_t {
  kNone,       // or the number of the parameters
  kFull,       // lies as the output
  kBroadcast,  // in runs that hold whole vectors
};

inline constexpr int kMostSimpleAxes = 8;

struct SimpleParameters {
  const void* a = nullptr;
  const void* b = nullptr;
  void* y = nullptr;
  int64_t lanes = 0;
  SimpleJoin join = SimpleJoin::kNone;
  Activation activation;
  bool is_reversed = false;  // b ∘ a
  bool rounds = false;       // a ∘ b is a Node of its own
  float number = 0;          // b, where no operand is
  // kBroadcast: of b, fewer than 2^31 lanes.
  bool repeats = false;  // runs of one element
  int axes = 0;          // outer to inner
  FastDivide<uint32_t> extents[kMostSimpleAxes];
  int strides[kMostSimpleAxes] = {};
};

// Lanes of one vector: what kBroadcast's runs are multiples of.
constexpr int SimpleVector(int element_bytes) { return 16 / element_bytes; }

// a, b and y are of `dtype`, which is f16, bf16 or f32.
KernelCall SimpleCall(DType dtype, SimpleOperand operand, const SimpleParameters& parameters);
// y is of `to`; there is no b.
KernelCall SimpleCast(DType from, DType to, const SimpleParameters& parameters);

}  // namespace onnx_cudnn
