// Rows held in the registers of part of a warp, a warp or a block.
#pragma once

#include "runtime/kernels/cuda/common/packed.cuh"
#include "runtime/kernels/cuda/common/rows.h"

namespace onnx_cudnn {

// The rows of a thread: first + i · step for i < kRows; it is lane `lane` of each.
struct RowThread {
  int lane;
  int64_t first;
  int step;

  __device__ __forceinline__ RowThread(const RowShape& shape, int rows_at_once) {
    const int thread = static_cast<int>(threadIdx.x);
    if (shape.threads > 32) {
      lane = thread;
      step = 1;
      first = static_cast<int64_t>(blockIdx.x) * rows_at_once;
      return;
    }
    const int shift = __ffs(shape.threads) - 1;
    lane = thread & (shape.threads - 1);
    step = static_cast<int>(blockDim.x) >> shift;
    first = static_cast<int64_t>(blockIdx.x) * step * rows_at_once + (thread >> shift);
  }
};

// One thread's vectors of a row: every `threads`-th, starting with its own. Vectors are aligned in
// memory, so the first and the last one may extend beyond the row. kWhole: all rows are known to be
// whole.
template <typename T, int kCount, bool kWhole = false>
class RowSlice {
 public:
  static constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
  Vector<T, kWidth> lanes[kCount];

  // Loads elements from element `from` of row `row` of x; `outside` where there is no element. A
  // row beyond the last has none.
  __device__ __forceinline__ void Load(const RowShape& shape, const T* x, int64_t row, int lane,
                                       int from, T outside) {
    Place(shape, row, lane, from);
    x += start_;
    Packed<T, kWidth> words[kCount];
    Vector<T, kWidth> vector;
    if (IsWhole(shape)) {
#pragma unroll
      for (int k = 0; k < kWidth; ++k) vector[k] = outside;
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        words[j] = Packed<T, kWidth>(vector);
        if (Begin(j) < extent_) words[j] = Packed<T, kWidth>(LoadVector<kWidth>(x + Begin(j)));
      }
    } else {
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const int begin = Begin(j);
        if (begin >= 0 && begin + kWidth <= pitch_) {
          words[j] = Packed<T, kWidth>(LoadVector<kWidth>(x + begin));
        } else {
#pragma unroll
          for (int k = 0; k < kWidth; ++k) vector[k] = Holds(j, k) ? x[begin + k] : outside;
          words[j] = Packed<T, kWidth>(vector);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kCount; ++j) lanes[j] = words[j].Elements();
    if (IsWhole(shape) || shape.pitch == shape.extent) return;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        if (!Holds(j, k)) lanes[j][k] = outside;
      }
    }
  }

  // Hides the content of the vectors from the compiler, so that it converts them again instead of
  // keeping the converted values (twice the registers for 16-bit elements) and the results of
  // Holds.
  __device__ __forceinline__ void Forget() {
    asm volatile("" : "+r"(first_), "+r"(step_));
#pragma unroll
    for (int j = 0; j < kCount; ++j) Hide(lanes[j]);
  }

  // The element of the row that is lanes[j][0]; negative for a vector that starts before the row.
  __device__ __forceinline__ int Begin(int j) const { return first_ + j * step_; }
  __device__ __forceinline__ bool Holds(int j, int k) const {
    if (kWhole) return Begin(j) < extent_;
    return static_cast<unsigned>(Begin(j) + k) < static_cast<unsigned>(extent_);
  }

  // Writes vector j of the row to y, which has the layout of x; writes zeros to the padding.
  template <typename R>
  __device__ __forceinline__ void Store(const RowShape& shape, R* y, int j,
                                        Vector<R, kWidth> vector) const {
    static_assert(sizeof(R) == sizeof(T));
    const int begin = Begin(j);
    y += start_;
    if (IsWhole(shape)) {
      if (begin < extent_) StoreVector(y + begin, vector);
      return;
    }
    if (shape.pitch != shape.extent) {
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        if (!Holds(j, k)) vector[k] = R(0.0F);
      }
    }
    if (begin >= 0 && begin + kWidth <= pitch_) return StoreVector(y + begin, vector);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      if (static_cast<unsigned>(begin + k) < static_cast<unsigned>(pitch_)) {
        y[begin + k] = vector[k];
      }
    }
  }

 private:
  __device__ __forceinline__ static bool IsWhole(const RowShape& shape) {
    return kWhole || shape.whole;
  }
  __device__ __forceinline__ void Place(const RowShape& shape, int64_t row, int lane, int from) {
    start_ = row * shape.pitch;
    const int shift = IsWhole(shape) ? 0 : static_cast<int>(start_ & (kWidth - 1));
    first_ = from + lane * kWidth - shift;
    step_ = shape.threads * kWidth;
    extent_ = row < shape.rows ? shape.extent : 0;
    pitch_ = row < shape.rows ? shape.pitch : 0;
  }

  int64_t start_;
  int first_, step_, extent_, pitch_;
};

// Loads the rows of a thread, each starting at element `from`.
template <typename T, int kCount, bool kWhole, int kRows>
__device__ __forceinline__ void LoadRows(const RowShape& shape, const RowThread& thread,
                                         const void* x, int from, T outside,
                                         RowSlice<T, kCount, kWhole> (&slices)[kRows]) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    slices[r].Load(shape, static_cast<const T*>(x), thread.first + r * thread.step, thread.lane,
                   from, outside);
  }
}

// The value of the lane whose number differs in the bits of `mask`. S consists of whole 32-bit
// words.
template <typename S>
__device__ __forceinline__ S Exchange(S s, int mask) {
  static_assert(sizeof(S) % sizeof(unsigned) == 0);
  unsigned words[sizeof(S) / sizeof(unsigned)];
  memcpy(words, &s, sizeof(S));
#pragma unroll
  for (unsigned& word : words) word = __shfl_xor_sync(0xffffffffu, word, mask);
  memcpy(&s, words, sizeof(S));
  return s;
}

// Joins the values of all threads of a row in a fixed order; all of them get the result. `scratch`
// is shared memory for one S per warp, not otherwise used until the second barrier after the call.
template <typename S, typename Join>
__device__ __forceinline__ S JoinRow(S s, int threads, S* scratch, Join join) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    if (mask < threads) s = join(s, Exchange(s, mask));
  }
  if (threads <= 32) return s;
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = s;
  __syncthreads();
  s = scratch[0];
  const int warps = threads / 32;
  for (int warp = 1; warp < warps; ++warp) s = join(s, scratch[warp]);
  return s;
}

inline constexpr int kMostWarps = 32;  // per block

struct Sum {
  template <typename S>
  __device__ __forceinline__ S operator()(S a, S b) const {
    return a + b;
  }
};
struct Larger {
  template <typename S>
  __device__ __forceinline__ S operator()(S a, S b) const {
    return max(a, b);
  }
};

}  // namespace onnx_cudnn
