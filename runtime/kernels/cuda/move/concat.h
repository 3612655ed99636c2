#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

inline constexpr int kMostParts = 64;  // per launch

// A part of the rows of a dense tensor, with rows of its own.
//   the whole  [rows, pitch]; its columns [at, at + run) are columns [0, run) of this part
//   the part   [rows, own pitch]; lanes after the run are padding
struct RowPart {
  Slot slot;
  int64_t at, run, pitch;  // elements
};
struct RowParts {
  Slot whole;
  std::vector<RowPart> parts;  // left to right; no run is 0
  int64_t rows = 1, pitch = 1;
  int element_bytes = 1;
};

// Writes the whole; its columns after the last part are padding and become zero.
std::vector<KernelCall> JoinRowsCalls(const RowParts& parts);
// Writes the parts; their padding becomes zero.
std::vector<KernelCall> SplitRowsCalls(const RowParts& parts);

}  // namespace onnx_cudnn
