// The efficiency that cuBLASLt reaches on a device.
#pragma once

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

struct GemmCase {
  DType dtype;
  int64_t depth;      // products summed per element
  bool is_aligned;    // every row starts at a multiple of 16 bytes
  bool has_residual;  // C is read
};
Efficiency EfficiencyOf(const GemmCase& gemm, const Target& target);

}  // namespace onnx_cudnn
