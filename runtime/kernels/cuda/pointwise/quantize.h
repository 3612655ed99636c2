// QuantizeLinear and DequantizeLinear: parameters and launch of quantize.cu.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// The scale of each element. The elements have the layout [outer, extent, inner]; element (o, e, i)
// uses
//   scale[o · scale_outer + e / block · row + i · step],  zero[… zero_outer …]
struct ScaleLanes {
  bool one = true;  // one scale for all elements
  int64_t inner = 1, extent = 1, block = 1;
  int64_t scale_outer = 0, zero_outer = 0, row = 0, step = 0;
};

struct QuantizeOptions {
  DType from = DType::kF32, to = DType::kU8;
  DType scale = DType::kF32;      // f32, f16, bf16 or f8e8m0
  DType precision = DType::kF32;  // of the division: f32, f16 or bf16
  bool has_zero = false;          // of the quantized type
  bool saturate = true;           // for 8-bit floats
};

struct QuantizeSlots {
  Slot x, scale, zero, y;
};

// y = saturate(round(x / scale) + zero) for `elements` ≥ 1 elements.
KernelCall QuantizeCall(int64_t elements, const ScaleLanes& lanes, const QuantizeOptions& options,
                        const QuantizeSlots& slots);
// y = (x - zero) · scale.
KernelCall DequantizeCall(int64_t elements, const ScaleLanes& lanes, const QuantizeOptions& options,
                          const QuantizeSlots& slots);

}  // namespace onnx_cudnn
