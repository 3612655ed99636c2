// Rows of a tensor and the threads that process them. Plain C++, also used on the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// Rows of `extent` elements, `pitch` apart; elements between them are padding.
struct RowShape {
  int64_t rows = 0;
  int pitch = 0;
  int extent = 0;
  int reach = 0;       // lanes from the start of a row's first vector to the end of its last vector
  int threads = 32;    // per row: a power of two up to 32, or the whole block
  bool whole = false;  // every row is aligned to, and consists of, whole 16-byte vectors
};

// x[outer, pitch, inner] with the elements x[:, :extent, :], for an op along an axis. inner is 1 if
// pitch differs from extent.
struct AxisLanes {
  int64_t outer = 1, extent = 1, pitch = 1, inner = 1;
};

// The template instance for the rows: each thread holds `vectors` of each of `rows_at_once` rows.
struct RowPlan {
  RowShape shape;
  LaunchShape launch;
  int rows_at_once = 1;
  int vectors = 0;
  bool fits = false;  // otherwise a block reads its row several times
};

inline constexpr int kMostRowThreads = 512;               // because of 128 registers per thread
inline constexpr int64_t kLongestRow = int64_t{1} << 30;  // so that element indices fit an int

inline int PowerOfTwoFrom(int64_t n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

// A row of up to 256 vectors is processed by a warp or a part of one, a longer one by a block, 8
// vectors per thread. `extent` and `pitch` are at most kLongestRow.
//   most_whole  threads for a row of whole vectors
inline RowPlan PlanRows(const AxisLanes& lanes, int element_bytes,
                        int most_whole = kMostRowThreads) {
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
  const int most_threads = plan.shape.whole ? most_whole : kMostRowThreads;
  plan.fits = vectors <= most_threads * kMostVectors;
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
