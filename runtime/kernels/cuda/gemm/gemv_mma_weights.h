// The packed weights of gemv_mma.cu and gemv_4bit.cu. A tile is 16 columns. Lane 4 g + t of a warp
// has columns g and g + 8 at indices 8 t to 8 t + 7 of each 32 of K.
#pragma once

#include <vector>

#include "runtime/plan/step.h"

namespace onnx_cudnn {

// Where constant `position` has its columns and depth.
struct GemvMmaMatrix {
  int position;  // among the Candidate's constants
  int columns, depth;
  bool depth_is_inner;
};
// One or more of equal columns and depth, whose tiles are packed alternately.
using GemvMmaMatrices = std::vector<GemvMmaMatrix>;

// 16-bit weights as [tile, step of 32, 2, lane, 8]: 16 bytes are operand a of an mma.sync.
Derived PackGemvMma(const GemvMmaMatrices& w);

// 4-bit weights as [tile, step of 64, lane, 4 words], an even number of steps: of each 32 of K,
// column g, then column g + 8. Element i of a word's eight is at bits 4 (i / 2) of its low or (odd
// i) high half. INT4 is stored plus 8.
Derived PackGemv4Bit(const GemvMmaMatrices& w);

// Scales or zero points of blocks of K as [tile, steps, 8, each, 2] with the pairs g and g + 8;
// each stands `repeats` times. There are 0s beyond the last column and block.
struct ScaleOrder {
  int steps, each, repeats;
};
// 16-bit scales, one per block of K and column.
Derived PackGemvScales(const GemvMmaMatrices& scales, const ScaleOrder& order);
// 4-bit zero points as bytes, INT4 plus 8, behind a header of kGemvZerosHeader bytes.
Derived PackGemvZeros(const GemvMmaMatrices& zeros, const ScaleOrder& order);

}  // namespace onnx_cudnn
