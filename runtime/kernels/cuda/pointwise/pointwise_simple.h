// Parameters of the simple forms (pointwise_simple.cu): y = f(a ∘ b) with an activation f, compiled
// without a program to interpret.
#pragma once

#include <cstdint>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/activation.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/pointwise/pointwise.h"

namespace onnx_cudnn {

inline constexpr PointwiseCode kNoJoin = PointwiseCode::kConvert;  // y = f(a)

enum class SimpleOperand : uint8_t {
  kNone,       // or a number
  kFull,       // has the layout of the output
  kBroadcast,  // kRun or kRepeated
};

inline constexpr int kMostSimpleAxes = 8;

struct SimpleParameters {
  const void* a = nullptr;
  const void* b = nullptr;
  void* y = nullptr;
  int64_t lanes = 0;
  PointwiseCode join = kNoJoin;  // ∘, a binary primitive or its reversed form
  Activation activation;
  bool rounds = false;  // rounds a ∘ b to the type of y, because it is a Node of its own
  float number = 0;     // b, if it is not an operand
  // kBroadcast: the layout of b; fewer than 2^31 lanes.
  bool repeats = false;  // kRepeated
  int axes = 0;          // outer to inner
  FastDivide<uint32_t> extents[kMostSimpleAxes];
  int strides[kMostSimpleAxes] = {};
};

// a, b and y are of `dtype`, which is f16, bf16 or f32.
KernelCall SimpleCall(DType dtype, SimpleOperand operand, const SimpleParameters& parameters);
// Converts to type `to`; there is no b.
KernelCall SimpleCast(DType from, DType to, const SimpleParameters& parameters);

}  // namespace onnx_cudnn
