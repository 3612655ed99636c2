// Columns held in the registers of a block.
#pragma once

#include "runtime/kernels/cuda/common/columns.h"
#include "runtime/kernels/cuda/common/kernel_call.h"
#include "runtime/kernels/cuda/common/rows.cuh"

namespace onnx_cudnn {

// One thread's elements of `kWidth` columns: every blockDim.y-th element along the extent.
template <typename T, int kWidth>
class ColumnSlice {
 public:
  Vector<T, kWidth> lanes[kColumnVectors];

  __device__ __forceinline__ explicit ColumnSlice(const ColumnShape& shape)
      : ColumnSlice(shape, static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) {}
  // The slice of column `column`; a column beyond the last has no elements.
  __device__ __forceinline__ ColumnSlice(const ColumnShape& shape, int64_t column)
      : extent_(column < shape.columns ? shape.extent : 0), inner_(shape.inner) {
    uint64_t outer = static_cast<uint64_t>(column);
    const int64_t within = static_cast<int64_t>(shape.columns_of_one.Split(outer));
    start_ = static_cast<int64_t>(outer) * shape.extent * shape.inner + within * kWidth;
  }

  // Loads elements from `from` on along the extent; `outside` beyond its end.
  template <Reuse reuse = Reuse::kSome>
  __device__ __forceinline__ void Load(const T* x, int from, T outside) {
    first_ = from + static_cast<int>(threadIdx.y);
    Packed<T, kWidth> words[kColumnVectors];
    Vector<T, kWidth> nothing;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) nothing[k] = outside;
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      words[j] = Packed<T, kWidth>(nothing);
      if (Holds(j)) words[j] = Packed<T, kWidth>(LoadVector<kWidth, reuse>(x + At(j)));
    }
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) lanes[j] = words[j].Elements();
  }
  __device__ __forceinline__ void Forget() {  // see RowSlice
    asm volatile("" : "+r"(first_));
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) Hide(lanes[j]);
  }
  // n elements of vector j, starting at element k.
  template <int n>
  __device__ __forceinline__ Vector<T, n> Lanes(int j, int k) const {
    Vector<T, n> some;
    memcpy(&some, &lanes[j].at[k], sizeof(some));
    return some;
  }
  __device__ __forceinline__ bool Holds(int j) const { return Index(j) < extent_; }
  __device__ __forceinline__ int Index(int j) const {
    return first_ + j * static_cast<int>(blockDim.y);
  }
  template <Reuse reuse = Reuse::kSome, typename R>
  __device__ __forceinline__ void Store(R* y, int j, const Vector<R, kWidth>& vector) const {
    if (Holds(j)) StoreVector<reuse>(y + At(j), vector);
  }

 private:
  __device__ __forceinline__ int64_t At(int j) const {
    return start_ +
           static_cast<int64_t>(static_cast<uint32_t>(Index(j)) * static_cast<uint64_t>(inner_));
  }

  int extent_, first_;
  int64_t inner_, start_;
};

// Joins the values of all threads of equal threadIdx.x in a fixed order; all of them get the
// result. All threads of the block must call it. `scratch` is dynamic shared memory of
// ColumnScratchBytes.
template <int kWidth, typename S, typename Join>
__device__ __forceinline__ void JoinColumns(S (&s)[kWidth], S* scratch, Join join) {
  const int x = static_cast<int>(blockDim.x), y = static_cast<int>(blockDim.y);
  if (y == 1) return;
  for (int mask = 16; mask >= x; mask /= 2) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) s[k] = join(s[k], Exchange(s[k], mask));
  }
  // A partial is the join of one warp, or of the part of a warp that is one row of threads.
  const int thread = static_cast<int>(threadIdx.y) * x + static_cast<int>(threadIdx.x);
  const int partial = x >= 32 ? static_cast<int>(threadIdx.y) : thread / 32;
  const int partials = x >= 32 ? y : x * y / 32;
  const int column = static_cast<int>(threadIdx.x) * kWidth;
  __syncthreads();  // the readers of an earlier join have finished
  if (x >= 32 || thread % 32 < x) {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) scratch[partial * x * kWidth + column + k] = s[k];
  }
  __syncthreads();
  for (int i = thread; i < x * kWidth; i += x * y) {
    S joined = scratch[i];
    for (int p = 1; p < partials; ++p) joined = join(joined, scratch[p * x * kWidth + i]);
    scratch[i] = joined;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kWidth; ++k) s[k] = scratch[column + k];
}

// A launch over the lanes along an axis: over rows if they are contiguous, otherwise over columns.
//   rows          returns the kernel for the rows of a RowPlan
//   wide, narrow  the kernels for columns of `width` elements and of one
//   joined_bytes  joined state per element
template <typename T, typename Parameters, typename Rows>
KernelCall LanesCall(const AxisLanes& lanes, const Rows& rows, void (*wide)(Parameters),
                     void (*narrow)(Parameters), int width, size_t joined_bytes, Parameters p) {
  if (lanes.inner == 1) {
    const RowPlan plan = PlanRows(lanes, sizeof(T));
    p.rows = plan.shape;
    return KernelCall::Of(rows(plan), plan.launch, p);
  }
  const ColumnPlan plan = PlanColumns(lanes, width, joined_bytes);
  p.columns = plan.shape;
  return KernelCall::Of(plan.is_wide ? wide : narrow, plan.launch, p);
}

}  // namespace onnx_cudnn
