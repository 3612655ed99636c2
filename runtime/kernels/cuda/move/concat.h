#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostParts = 64;  // of a launch

// A part of the rows of a dense tensor, which has rows of its own.
//   the whole  [rows, pitch], of which columns [at, at + run) are this part's columns [0, run)
//   the part   [rows, own pitch]; lanes behind the run are padding
struct RowPart {
  Slot slot;
  int64_t at, run, pitch;  // elements
};
struct RowParts {
  Slot whole;
  std::vector<RowPart> parts;  // from left to right, no run of 0
  int64_t rows = 1, pitch = 1;
  int element_bytes = 1;
};

// Writes the whole; its columns behind the last part are padding and become zero.
std::vector<KernelCall> JoinRowsCalls(const RowParts& parts);
// Writes the parts, padding as zero.
std::vector<KernelCall> SplitRowsCalls(const RowParts& parts);

}  // namespace onnx_cudnn
