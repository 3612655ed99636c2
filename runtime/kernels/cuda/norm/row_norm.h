// Normalization of rows: parameters and launch of row_norm.cu.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/rows.h"

namespace onnx_cudnn {

// y[r, i] = (x[r, i] - mean) · inverse · scale[i · scale_step] + bias[i · bias_step] with inverse =
// 1 / sqrt(variance + epsilon); about_zero: the mean is taken as 0.
struct RowNormOptions {
  bool about_zero = false;
  float epsilon = 1e-5F;
  int scale_step = 0, bias_step = 0;  // 0: one factor for all columns
  DType dtype = DType::kF32;          // of x
  DType scale_dtype = DType::kF32;    // of scale, bias and y
  // Types of the returned statistics, f32, f16 or bf16; kUndefined: unused.
  DType mean_dtype = DType::kUndefined, inverse_dtype = DType::kUndefined;
  bool writes_y = true, has_bias = false;
};

struct RowNormSlots {
  Slot x, scale, bias, y, mean, inverse;  // only those that the options enable
};

// x: `rows` rows of `columns` elements. At least one row.
KernelCall RowNormCall(int64_t rows, int64_t columns, const RowNormOptions& options,
                       const RowNormSlots& slots);

}  // namespace onnx_cudnn
