// Ops on each row of a row group. Plain C++: .cu files include it.
#pragma once

#include <cstdint>

namespace onnx_cudnn {

enum class RowOp : uint8_t {
  kLayerNorm,
  kRmsNorm,
  kSoftmax,
  kLogSoftmax,
  // Reductions: every element becomes the result of its row.
  kSum,
  kMean,
  kMax,
  kMin,
  kL1,
  kL2,
  kSumSquare,
};
constexpr bool IsNorm(RowOp op) { return op <= RowOp::kRmsNorm; }
constexpr bool IsReduction(RowOp op) { return op >= RowOp::kSum; }

inline constexpr int kMostRowOps = 2;  // of a group

}  // namespace onnx_cudnn
