// Columns x[o, :, i] of a tensor x[outer, extent, inner] and the threads that process them. Plain
// C++, also used on the host.
#pragma once

#include "runtime/kernels/cuda/common/fast_divide.cuh"
#include "runtime/kernels/cuda/common/rows.h"

namespace onnx_cudnn {

// `width` adjacent columns count as one: a thread loads them at once.
struct ColumnShape {
  int64_t columns = 0;                  // outer · inner / width
  FastDivide<uint64_t> columns_of_one;  // inner / width
  int64_t inner = 1;
  int extent = 0;
};

struct ColumnPlan {
  ColumnShape shape;
  LaunchShape launch;    // x: columns, y: along the extent; x · y is a multiple of 32
  bool is_wide = false;  // `width` elements per column, else one
  bool fits = false;     // each thread holds all its elements in kColumnVectors registers
};

inline constexpr int kColumnVectors = 8;
inline constexpr int kMostColumnThreads = 512;

// Shared memory that JoinColumns needs to join `bytes` per thread.
inline int ColumnScratchBytes(const LaunchShape& launch, int bytes) {
  const int x = static_cast<int>(launch.block.x), y = static_cast<int>(launch.block.y);
  const int partials = x >= 32 ? y : x * y / 32;
  return y == 1 ? 0 : partials * x * bytes;
}

// Plans columns of `width` elements if they divide `inner`. The joined state has `bytes` per
// element.
inline ColumnPlan PlanColumns(const AxisLanes& lanes, int width, size_t bytes) {
  constexpr int kBlock = 256;
  ColumnPlan plan;
  plan.is_wide = width > 1 && lanes.inner % width == 0;
  const int64_t columns_of_one = plan.is_wide ? lanes.inner / width : lanes.inner;
  plan.shape = {.columns = lanes.outer * columns_of_one,
                .columns_of_one = FastDivide<uint64_t>(std::max<int64_t>(1, columns_of_one)),
                .inner = lanes.inner,
                .extent = static_cast<int>(lanes.extent)};
  const int least_x = plan.is_wide ? 4 : 32;  // 64 bytes: whole sectors
  const int y = PowerOfTwoFrom((lanes.extent + kColumnVectors - 1) / kColumnVectors);
  plan.fits = int64_t{y} * least_x <= kMostColumnThreads;
  plan.launch.block.y = static_cast<unsigned>(plan.fits ? y : kBlock / 32);
  plan.launch.block.x = std::max<unsigned>(plan.fits ? least_x : 32, kBlock / plan.launch.block.y);
  plan.launch.grid.x =
      static_cast<unsigned>((plan.shape.columns + plan.launch.block.x - 1) / plan.launch.block.x);
  plan.launch.shared_bytes =
      ColumnScratchBytes(plan.launch, static_cast<int>(bytes) * (plan.is_wide ? width : 1));
  return plan;
}

}  // namespace onnx_cudnn
