// Scales and shifts channels by factors that an earlier launch computed.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// x[images, channels, pixels] row-major, or x[images, pixels, pitch] where the first `channels` of
// each pixel are elements.
struct PlaneLanes {
  int64_t images = 1, channels = 1, pixels = 1;
  int64_t pitch = 0;  // 0: row-major

  int64_t lanes() const { return images * pixels * (pitch == 0 ? channels : pitch); }
};

// Two numbers per channel, in f32 (f64 for f64): y = x · a + b, or y = (x - b) · a if it is
// centered.
template <typename C>
struct alignas(2 * sizeof(C)) Factor {
  C a, b;
};
inline int64_t FactorBytes(DType dtype) { return dtype == DType::kF64 ? 16 : 8; }

struct AffineOptions {
  bool per_image = true;  // factors[images, channels], otherwise factors[channels]
  bool centered = false;
};

// The padding of y becomes zero.
KernelCall AffineCall(DType dtype, const PlaneLanes& lanes, const AffineOptions& options,
                      Slot factors, Slot x, Slot y);

struct Statistics {
  Slot scale, bias, mean, variance;
  DType dtypes[4];  // in this order; f32, f16 and bf16 may be mixed
};

// Computes the factors of BatchNormalization, in f64 if `dtype` is f64.
KernelCall BatchFactorsCall(DType dtype, int64_t channels, float epsilon,
                            const Statistics& statistics, Slot factors);

}  // namespace onnx_cudnn
