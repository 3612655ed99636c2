// Rows of a tensor and the threads that work on them. Plain C++ for the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// Rows of `extent` elements, `pitch` apart; what lies between is padding.
struct RowShape {
  int64_t rows = 0;
  int pitch = 0;
  int extent = 0;
  int reach = 0;       // lanes from the start of a row's first vector to the end of its last one
  int threads = 32;    // of one row: a power of two up to 32, or the whole block
  bool whole = false;  // every row starts at, and consists of, whole 16-byte vectors
};

// x[outer, pitch, inner], of which x[:, :extent, :] are elements: what an op along an axis sees.
// inner is 1 where pitch is not extent.
struct AxisLanes {
  int64_t outer = 1, extent = 1, pitch = 1, inner = 1;
};

// Which instance works on rows: each thread holds `vectors` of each of `rows_at_once` rows.
struct RowPlan {
  RowShape shape;
  LaunchShape launch;
  int rows_at_once = 1;
  int vectors = 0;
  bool fits = false;  // else a block goes through its row several times
};

inline constexpr int kMostRowThreads = 512;               // 128 registers each
inline constexpr int64_t kLongestRow = int64_t{1} << 30;  // elements: their numbers are ints

inline int PowerOfTwoFrom(int64_t n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

// Up to 256 vectors a warp or a part of it takes a row, up to 4,096 a block, 8 vectors a thread.
// `extent` and `pitch` are at most kLongestRow.
inline RowPlan PlanRows(const AxisLanes& lanes, int element_bytes) {
  constexpr int kWarp = 32, kSmallBlock = 128, kMostVectors = 8;
  const int width = 16 / element_bytes;
  RowPlan plan;
  plan.shape = {.rows = lanes.outer,
                .pitch = static_cast<int>(lanes.pitch),
                .extent = static_cast<int>(lanes.extent)};
  plan.shape.whole = lanes.pitch % width == 0 && lanes.extent % width == 0;
  const bool starts_aligned = lanes.pitch % width == 0;
  plan.shape.reach = static_cast<int>(lanes.pitch) + (starts_aligned ? 0 : width - 1);
  const int64_t vectors = (plan.shape.reach + width - 1) / width;
  plan.fits = vectors <= kMostRowThreads * kMostVectors;
  if (vectors <= 8 * kWarp) {
    plan.vectors = vectors <= kWarp ? 1 : vectors <= 4 * kWarp ? 4 : 8;
    plan.rows_at_once = vectors <= kWarp ? 4 : 1;
    plan.shape.threads = std::min(kWarp, PowerOfTwoFrom(vectors));
    plan.launch.block.x = kSmallBlock;
  } else {
    const int64_t threads = (vectors + kMostVectors - 1) / kMostVectors;
    plan.vectors = kMostVectors;
    plan.launch.block.x = plan.fits ? static_cast<unsigned>((threads + 31) / 32 * 32)
                                    : static_cast<unsigned>(kMostRowThreads);
    plan.shape.threads = static_cast<int>(plan.launch.block.x);
  }
  const int64_t rows_of_block =
      static_cast<int64_t>(plan.launch.block.x) / plan.shape.threads * plan.rows_at_once;
  plan.launch.grid.x = static_cast<unsigned>((lanes.outer + rows_of_block - 1) / rows_of_block);
  return plan;
}

}  // namespace onnx_cudnn
