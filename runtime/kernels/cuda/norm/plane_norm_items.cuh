// The items of plane_norm_stream.cu, their counters, and their results from the factors.
#pragma once

#include "runtime/kernels/cuda/common/columns.cuh"
#include "runtime/kernels/cuda/norm/plane_norm.cuh"

namespace onnx_cudnn {
namespace plane_norm {

inline constexpr int kThreads = 256;  // 80 registers each
inline constexpr int kBlocks = 3;     // per multiprocessor: 96 KB of loads in flight
inline constexpr int kMostKept = 2;   // items per block, in shared memory
inline constexpr int kTickets = 4;  // a power of two: those of kept items, the current and the next
using Count = unsigned long long;   // NOLINT: the argument type of atomicAdd

struct StreamParameters {
  const void *x, *scale, *bias;
  void *y, *counts, *parts, *factors, *dropped;
  ColumnShape columns;                 // over all images; extent: pixels
  FastDivide<uint64_t> column_blocks;  // per image
  FastDivide<uint64_t> image_parts;
  int part_steps;  // in units of blockDim.y · kColumnVectors pixels
  int64_t items;   // over all images
  int kept;        // items of a block; 0: each is read twice
  int kept_at;     // in shared memory
  // Statistics are joined over a domain: one image, or all images.
  bool joins_images;
  int64_t domain_items, domain_parts, domain_pixels;
  int channels, groups, of_group, group_threads;
  bool has_factors, deviates;
  double epsilon;
};

// A thread's part of an item.
struct Item {
  int64_t image, domain;
  int column;      // within the image; none if it is columns_of_one or more
  int64_t part;    // index over all images
  int begin, end;  // pixels

  __device__ __forceinline__ Item(const StreamParameters& p, int64_t item) {
    uint64_t rest = static_cast<uint64_t>(item);
    const int block = static_cast<int>(p.column_blocks.Split(rest));
    part = static_cast<int64_t>(rest);
    const int64_t of_image = static_cast<int64_t>(p.image_parts.Split(rest));
    image = static_cast<int64_t>(rest);
    domain = p.joins_images ? 0 : image;
    column = block * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
    const int64_t pixels = int64_t{p.part_steps} * StepPixels();
    begin = static_cast<int>(of_image * pixels);
    end = static_cast<int>(min(begin + pixels, int64_t{p.columns.extent}));
  }
  __device__ __forceinline__ static int StepPixels() {
    return kColumnVectors * static_cast<int>(blockDim.y);
  }
  __device__ __forceinline__ bool HasColumn(const StreamParameters& p) const {
    return column < static_cast<int>(p.columns.columns_of_one.divisor);
  }
  __device__ __forceinline__ int64_t ColumnOfAll(const StreamParameters& p) const {
    if (!HasColumn(p)) return p.columns.columns;
    return image * static_cast<int64_t>(p.columns.columns_of_one.divisor) + column;
  }
};

__device__ __forceinline__ bool IsFirstThread() { return threadIdx.x == 0 && threadIdx.y == 0; }

// counts: the number of tickets taken, then per domain the number of items whose moments are
// complete, plus 1 once its factors are.
__device__ __forceinline__ Count* FinishedOf(const StreamParameters& p, int64_t domain) {
  return static_cast<Count*>(p.counts) + 1 + domain;
}

// Called by the first thread only, as are the next two.
__device__ __forceinline__ Count ClaimTicket(const StreamParameters& p) {
  return atomicAdd(static_cast<Count*>(p.counts), Count{1});
}
// Returns the number before.
__device__ __forceinline__ Count CountFinished(const StreamParameters& p, int64_t domain) {
  Count before;
  asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;"
               : "=l"(before)
               : "l"(FinishedOf(p, domain)), "l"(Count{1})
               : "memory");
  return before;
}
// dropped: for each item of a block that was dropped, the one dropped before.
__device__ __forceinline__ void Drop(const StreamParameters& p, int64_t item, int64_t* last) {
  static_cast<int64_t*>(p.dropped)[item] = *last;
  *last = item;
}

// Returns the factors of an item's columns once they are computed. Called by all threads.
template <int kWidth, typename C>
__device__ __forceinline__ Vector<Factor<C>, kWidth> AwaitFactors(const StreamParameters& p,
                                                                  const Item& item) {
  if (IsFirstThread()) {
    Count finished = 0;
    while (finished <= static_cast<Count>(p.domain_items)) {
      asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                   : "=l"(finished)
                   : "l"(FinishedOf(p, item.domain))
                   : "memory");
    }
  }
  __syncthreads();
  Vector<Factor<C>, kWidth> factors = {};
  if (!item.HasColumn(p)) return factors;
  return LoadVector<kWidth>(static_cast<const Factor<C>*>(p.factors) +
                            item.domain * p.columns.inner + item.column * kWidth);
}

// Writes the result of vector j of the slice, which is `x`.
template <typename T, int kWidth, typename C>
__device__ __forceinline__ void WriteResult(const StreamParameters& p, const Item& item,
                                            const ColumnSlice<T, kWidth>& slice, int j,
                                            const Vector<T, kWidth>& x,
                                            const Vector<Factor<C>, kWidth>& f) {
  C y[kWidth];
  WidenAll(x, y);
  if (p.has_factors) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) y[k] = y[k] * f.at[k].a + f.at[k].b;
  } else {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) y[k] = (y[k] - f.at[k].b) * f.at[k].a;
  }
  const int present = p.channels - item.column * kWidth;  // lanes beyond these are padding
  if (present < kWidth) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) y[k] = k < present ? y[k] : C{0};
  }
  slice.template Store<Reuse::kNone>(static_cast<T*>(p.y), j, NarrowAll<T>(y));
}

// The result of an item that is kept at `kept` (of this thread), in vectors kThreads apart.
template <typename T, int kWidth>
__device__ __forceinline__ void WriteKept(const StreamParameters& p, const Item& item,
                                          const T* kept) {
  ColumnSlice<T, kWidth> slice(p.columns, item.ColumnOfAll(p));
  const auto f = AwaitFactors<kWidth, ComputeOf<T>>(p, item);
#pragma unroll 1
  for (int from = item.begin; from < item.end; from += Item::StepPixels()) {
    slice.Place(from);
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      WriteResult(p, item, slice, j, LoadVector<kWidth>(kept + j * kThreads * kWidth), f);
    }
    kept += kColumnVectors * kThreads * kWidth;
  }
}

// The result of an item that was dropped.
template <typename T, int kWidth>
__device__ __forceinline__ void WriteDropped(const StreamParameters& p, const Item& item) {
  ColumnSlice<T, kWidth> slice(p.columns, item.ColumnOfAll(p));
  const auto f = AwaitFactors<kWidth, ComputeOf<T>>(p, item);
#pragma unroll 1
  for (int from = item.begin; from < item.end; from += Item::StepPixels()) {
    slice.template Load<Reuse::kNone>(static_cast<const T*>(p.x), from, T(0.0F));
    slice.Forget();
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) WriteResult(p, item, slice, j, slice.lanes[j], f);
  }
}

}  // namespace plane_norm
}  // namespace onnx_cudnn
