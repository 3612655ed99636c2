// The accumulated state of a window, for several channels at once.
#pragma once

#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"
#include "runtime/kernels/cuda/pool/pool.h"

namespace onnx_cudnn {

// The smallest T: minus infinity where there is one.
template <typename T>
__device__ __forceinline__ T Lowest() {
  if constexpr (std::is_same_v<T, Half>) {
    return __ushort_as_half(0xfc00);
  } else if constexpr (std::is_same_v<T, BHalf>) {
    return __ushort_as_bfloat16(0xff80);
  } else if constexpr (std::is_floating_point_v<T>) {
    return -std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// The larger of both; NaN is ignored, as in the reference.
template <typename T>
__device__ __forceinline__ T Larger(T best, T value) {
  if constexpr (kIs16BitFloat<T>) {
    return __hmax(best, value);
  } else if constexpr (std::is_same_v<T, float>) {
    return fmaxf(best, value);
  } else {
    return value > best ? value : best;
  }
}

// `value` in all lanes.
template <int kLanes, typename T>
__device__ __forceinline__ Vector<T, kLanes> Filled(T value) {
  Vector<T, kLanes> vector;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) vector[i] = value;
  return vector;
}

// The larger value of each lane.
template <typename T, int kLanes>
__device__ __forceinline__ void KeepLarger(Vector<T, kLanes>& best, const Vector<T, kLanes>& x) {
  if constexpr (kIs16BitFloat<T> && kLanes % 2 == 0) {
    using Pair = std::conditional_t<std::is_same_v<T, Half>, __half2, __nv_bfloat162>;
#pragma unroll
    for (int i = 0; i < kLanes / 2; ++i) {
      Pair& pair = reinterpret_cast<Pair*>(best.at)[i];
      pair = __hmax2(pair, reinterpret_cast<const Pair*>(x.at)[i]);
    }
  } else if constexpr (sizeof(T) == 1 && kLanes % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kLanes / 4; ++i) {
      unsigned& four = reinterpret_cast<unsigned*>(best.at)[i];
      const unsigned other = reinterpret_cast<const unsigned*>(x.at)[i];
      four = std::is_signed_v<T> ? __vmaxs4(four, other) : __vmaxu4(four, other);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) best[i] = Larger(best[i], x[i]);
  }
}

template <PoolKind kKind, typename T, int kLanes>
struct PoolLanes;

template <typename T, int kLanes>
struct PoolLanes<PoolKind::kMax, T, kLanes> {
  Vector<T, kLanes> best;

  __device__ __forceinline__ void Start() { best = Filled<kLanes>(Lowest<T>()); }
  __device__ __forceinline__ void Add(const Vector<T, kLanes>& x, float) { KeepLarger(best, x); }
  __device__ __forceinline__ Vector<T, kLanes> Finish(int64_t, float) const { return best; }
};

template <typename T>
using PoolSum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T, int kLanes>
struct PoolSums {
  using Sum = PoolSum<T>;
  Vector<Sum, kLanes> sum;

  __device__ __forceinline__ void Start() {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) sum[i] = 0;
  }
};

template <typename T, int kLanes>
struct PoolLanes<PoolKind::kAverage, T, kLanes> : PoolSums<T, kLanes> {
  using typename PoolSums<T, kLanes>::Sum;

  __device__ __forceinline__ void Add(const Vector<T, kLanes>& x, float) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) this->sum[i] += Widen<Sum>(x[i]);
  }
  // 0 if nothing was counted.
  __device__ __forceinline__ Vector<T, kLanes> Finish(int64_t count, float) const {
    const Sum factor = count == 0 ? Sum{0} : Sum{1} / static_cast<Sum>(count);
    Vector<T, kLanes> y;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      y[i] = Narrow<T>(count == 0 ? Sum{0} : this->sum[i] * factor);
    }
    return y;
  }
};

template <typename T, int kLanes>
struct PoolLanes<PoolKind::kNorm, T, kLanes> : PoolSums<T, kLanes> {
  using typename PoolSums<T, kLanes>::Sum;

  __device__ __forceinline__ void Add(const Vector<T, kLanes>& x, float p) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const Sum magnitude = fabs(Widen<Sum>(x[i]));
      if (p == 1) {
        this->sum[i] += magnitude;
      } else if (p == 2) {
        this->sum[i] += magnitude * magnitude;
      } else {
        this->sum[i] += pow(magnitude, static_cast<Sum>(p));
      }
    }
  }
  __device__ __forceinline__ Vector<T, kLanes> Finish(int64_t, float p) const {
    Vector<T, kLanes> y;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const Sum sum = this->sum[i];
      y[i] = Narrow<T>(p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, Sum{1} / static_cast<Sum>(p)));
    }
    return y;
  }
};

// Lanes from `valid` on are padding and become zero.
template <typename T, int kLanes>
__device__ __forceinline__ void ClearPadding(Vector<T, kLanes>& vector, int valid) {
  if (valid >= kLanes) return;
  if constexpr (sizeof(T) < 4 &&
                Vector<T, kLanes>::kBytes % 4 == 0) {  // keeps 16-bit elements paired
    constexpr int kEach = 4 / sizeof(T);
#pragma unroll
    for (int i = 0; i < kLanes / kEach; ++i) {
      const int bits = (valid - i * kEach) * static_cast<int>(8 * sizeof(T));
      const uint32_t kept = bits >= 32 ? ~0U : bits <= 0 ? 0U : ~0U >> (32 - bits);
      reinterpret_cast<uint32_t*>(vector.at)[i] &= kept;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      if (i >= valid) vector[i] = T{};
    }
  }
}

// Position of a work item.
struct PoolPlace {
  int vector, column, row, depth;
  int64_t outer;
};
__device__ __forceinline__ PoolPlace PlaceOf(const PoolParameters& p, uint32_t item) {
  PoolPlace place;
  place.vector = p.vectors.Split(item);
  place.column = p.columns.Split(item);
  place.row = p.rows.Split(item);
  place.depth = p.depths.Split(item);
  place.outer = p.first_outer + item;
  return place;
}

__device__ __forceinline__ bool Inside(const PoolAxis& axis, int at) {
  return static_cast<unsigned>(at) < static_cast<unsigned>(axis.in);
}

// How many taps along the axis count for output `o`.
__device__ __forceinline__ int CountOf(const PoolAxis& axis, int o) {
  int count = 0, at = o * axis.stride - axis.pad;
  for (int k = 0; k < axis.kernel; ++k, at += axis.dilation) {
    count += at >= axis.count_begin && at < axis.count_end ? 1 : 0;
  }
  return count;
}

}  // namespace onnx_cudnn
