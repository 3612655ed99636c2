#pragma once

#include <optional>

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// Matrices [matrices, rows, columns], row-major; keeps one side of a diagonal.
struct TriluPlan {
  Slot from, to;
  int element_bytes = 1;
  int64_t matrices = 1, rows = 1, columns = 1;
  bool is_upper = true;
  int64_t diagonal = 0;               // in [-rows, columns]
  std::optional<Slot> diagonal_slot;  // an i32 or i64 element, instead of `diagonal`
  bool is_wide = true;
};
KernelCall CallOf(const TriluPlan& plan);

}  // namespace onnx_cudnn
