// Determinants and inverses of matrices: parameters and launch of elimination.cu.
#pragma once

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// Of `matrices` matrices [n, n], row-major. As the references: a determinant is computed in f64 and
// is 0 where no pivot is left; an inverse is computed in f32, f64 for f64, and divides by a pivot
// of 0.
struct EliminationPlan {
  Slot from, to;
  DType dtype = DType::kF32;  // a float; of an inverse not bf16
  int64_t matrices = 0;
  int n = 0;
  bool inverts = false;
};

struct EliminationCode {
  KernelCall call;
  int64_t workspace_bytes = 0;
};
EliminationCode CodeOf(const EliminationPlan& plan);

}  // namespace onnx_cudnn
