// Attention of one head over few keys:
//   s[j] = Σ_c q[c] · scale · k[j,c] + mask[j],  m = max over j of s[j]
//   y[n] = Σ_j exp(s[j] - m) · v[j,n] / Σ_j exp(s[j] - m)
// in f32. A block holds k and v of its head in shared memory, a warp computes kRows queries at
// once: in the first phase each lane has a key, in the second a column of y. A NaN makes its row
// NaN; a mask that excludes all keys makes it NaN or, for the op Attention, zero. Sums are formed
// in a fixed order, so repeated runs are bit-equal.
#include "runtime/kernels/cuda/attention/attention.h"

#include <cstddef>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kWarp = 32, kWarps = kAttentionThreads / kWarp;
constexpr int kLoads = 8;  // in flight per thread
constexpr int kKeys = 2;   // per lane at once

// Copies `count` elements; the pitch of rows of `row` elements becomes `pitch`, 0: unchanged.
// Elements are moved as words, so that several loads are in flight.
template <typename T, int kWidth>
__device__ __forceinline__ void CopyRows(const void* from, int count, FastDivide<uint32_t> row,
                                         int pitch, T* to) {
  using Word = WordOf<sizeof(Vector<T, kWidth>)>;
  const Word* words = static_cast<const Word*>(from);
  const int vectors = count / kWidth;
  for (int first = static_cast<int>(threadIdx.x); first < vectors;
       first += kLoads * kAttentionThreads) {
    Word read[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      const int at = first + u * kAttentionThreads;
      if (at < vectors) read[u] = words[at];
    }
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      const int at = first + u * kAttentionThreads;
      if (at >= vectors) break;
      if (pitch == 0) {
        reinterpret_cast<Word*>(to)[at] = read[u];
        continue;
      }
      Vector<T, kWidth> vector;
      memcpy(&vector, &read[u], sizeof(vector));
      uint32_t line = static_cast<uint32_t>(at * kWidth);
      uint32_t column = row.Split(line);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        to[static_cast<int>(line) * pitch + static_cast<int>(column)] = vector[i];
        if (++column < row.divisor) continue;
        column = 0;
        ++line;
      }
    }
  }
}

// Offset of the mask for head `head`.
__device__ __forceinline__ int64_t MaskBefore(const AttentionParameters& p, uint32_t head) {
  int64_t before = 0;
  for (int i = p.batch_rank - 1; i >= 0; --i) {
    before += static_cast<int64_t>(p.batch[i].Split(head)) * p.mask_batch[i];
  }
  return before;
}

// One number for each query that a warp computes at once.
template <int kRows>
using Rows = Vector<float, kRows>;

template <int kRows>
__device__ __forceinline__ Rows<kRows> Filled(float number) {
  Rows<kRows> rows;
#pragma unroll
  for (int r = 0; r < kRows; ++r) rows[r] = number;
  return rows;
}

// Sums over lanes at distances of `step` and more.
template <int kRows>
__device__ __forceinline__ void AddLanes(Rows<kRows>& rows, int step) {
  for (int other = step; other < kWarp; other *= 2) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] += __shfl_xor_sync(~0U, rows[r], other);
  }
}

// The mask for `query` and `key`; `before` is the offset of the head.
template <typename T>
__device__ __forceinline__ float MaskOf(const AttentionParameters& p, int64_t before, int query,
                                        int key) {
  const int64_t at = before + query * p.mask_query + key * p.mask_key;
  return p.mask_is_f32 ? static_cast<const float*>(p.mask)[at]
                       : Widen<float>(static_cast<const T*>(p.mask)[at]);
}

// Computes the scores of the warp's queries; returns the largest score per query.
template <typename T, int kRows>
__device__ __forceinline__ Rows<kRows> Score(const AttentionParameters& p, const Rows<kRows>* q,
                                             const T* k, int64_t mask_before, int first, int lane,
                                             Rows<kRows>* scores) {
  Rows<kRows> largest = Filled<kRows>(-std::numeric_limits<float>::infinity());
  for (int key = lane; key < p.keys; key += kKeys * kWarp) {
    Rows<kRows> sums[kKeys], added[kKeys];
    const T* at[kKeys];
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      const int own = min(key + i * kWarp, p.keys - 1);
      at[i] = k + own * p.key_step;
      sums[i] = Filled<kRows>(0);
      added[i] = Filled<kRows>(0);
      if (p.mask == nullptr) continue;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const int query = min(first + r, p.queries - 1);
        added[i][r] = MaskOf<T>(p, mask_before, query, own);
      }
    }
#pragma unroll 4
    for (int c = 0; c < p.depth; ++c) {
      const Rows<kRows> query = q[c];
#pragma unroll
      for (int i = 0; i < kKeys; ++i) {
        const float number = Widen<float>(at[i][c * p.channel_step]);
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[i][r] += query[r] * number;
      }
    }
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      if (key + i * kWarp >= p.keys) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        sums[i][r] += added[i][r];
        largest[r] = max(largest[r], sums[i][r]);
      }
      scores[key + i * kWarp] = sums[i];
    }
  }
  for (int other = 1; other < kWarp; other *= 2) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      largest[r] = max(largest[r], __shfl_xor_sync(~0U, largest[r], other));
    }
  }
  return largest;
}

// Stores the warp's queries, scaled, in shared memory; queries beyond the last repeat it.
template <typename T, int kRows>
__device__ __forceinline__ void LoadQueries(const AttentionParameters& p, int64_t first_query,
                                            int first, int lane, Rows<kRows>* q) {
  for (int c = lane; c < p.depth; c += kWarp) {
    Rows<kRows> scaled;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t query = first_query + min(first + r, p.queries - 1);
      scaled[r] = Widen<float>(static_cast<const T*>(p.q)[query * p.depth + c]) * p.scale;
    }
    q[c] = scaled;
  }
}

// Turns scores into weights; returns their sum per query.
template <int kRows>
__device__ __forceinline__ Rows<kRows> WeighKeys(int keys, const Rows<kRows>& largest, int lane,
                                                 Rows<kRows>* scores) {
  Rows<kRows> sum = Filled<kRows>(0);
  for (int key = lane; key < keys; key += kWarp) {
    Rows<kRows> weight = scores[key];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      weight[r] = __expf(weight[r] - largest[r]);
      sum[r] += weight[r];
    }
    scores[key] = weight;
  }
  AddLanes<kRows>(sum, 1);
  return sum;
}

// Makes the weights of rows without keys 0: their largest score is -inf.
template <int kRows>
__device__ __forceinline__ void KeepFinite(Rows<kRows>& largest) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (largest[r] == -std::numeric_limits<float>::infinity()) largest[r] = 0;
  }
}

template <typename T, int kWidth, int kRows>
__global__ void __launch_bounds__(kAttentionThreads)
    Attention(const __grid_constant__ AttentionParameters p) {
  WaitForLaunchBefore();
  extern __shared__ __align__(16) unsigned char shared[];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  uint32_t head = blockIdx.x;
  const int tile = static_cast<int>(p.tiles.Split(head));
  const int first = (tile * kWarps + warp) * kRows;  // first query of the warp
  auto* q = reinterpret_cast<Rows<kRows>*>(shared) + warp * p.depth;
  auto* scores = reinterpret_cast<Rows<kRows>*>(shared + p.scores_at) + warp * p.keys;
  T* k = reinterpret_cast<T*>(shared + p.k_at);
  T* v = reinterpret_cast<T*>(shared + p.v_at);

  const int k_count = p.keys * p.depth, v_count = p.keys * p.columns;
  CopyRows<T, kWidth>(static_cast<const T*>(p.k) + static_cast<int64_t>(head) * k_count, k_count,
                      p.k_row, p.k_pitch, k);
  CopyRows<T, kWidth>(static_cast<const T*>(p.v) + static_cast<int64_t>(head) * v_count, v_count,
                      p.k_row, 0, v);
  const int64_t first_query = static_cast<int64_t>(head) * p.queries;
  LoadQueries<T>(p, first_query, first, lane, q);
  __syncthreads();
  if (first >= p.queries) return;

  const int64_t mask_before = p.mask == nullptr ? 0 : MaskBefore(p, head);
  Rows<kRows> largest = Score<T, kRows>(p, q, k, mask_before, first, lane, scores);
  if (p.empty_rows_are_zero) KeepFinite<kRows>(largest);
  const Rows<kRows> sum = WeighKeys<kRows>(p.keys, largest, lane, scores);
  __syncwarp();

  // If y has fewer columns than a warp has lanes, several lanes share the keys of a column.
  const int at_once = 1 << p.log_columns, parts = kWarp >> p.log_columns;
  const int part = lane >> p.log_columns;
  for (int begin = 0; begin < p.columns; begin += at_once) {
    const int column = begin + (lane & (at_once - 1));
    const T* at = v + min(column, p.columns - 1);
    Rows<kRows> y = Filled<kRows>(0);
#pragma unroll 4
    for (int key = part; key < p.keys; key += parts) {
      const Rows<kRows> weight = scores[key];
      const float number = Widen<float>(at[key * p.columns]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) y[r] += weight[r] * number;
    }
    AddLanes<kRows>(y, at_once);
    if (part > 0 || column >= p.columns) continue;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (first + r >= p.queries) break;
      const bool is_empty = p.empty_rows_are_zero && sum[r] == 0;
      static_cast<T*>(p.y)[(first_query + first + r) * p.columns + column] =
          Narrow<T>(is_empty ? y[r] : y[r] * (1 / sum[r]));
    }
  }
}

}  // namespace

KernelCall AttentionCall(DType dtype, const LaunchShape& shape, const AttentionParameters& p,
                         int rows, bool is_wide) {
  return DTypeVisitor<KernelCall, float, Half, BHalf>::Visit(dtype, [&](auto e) {
    using T = decltype(e);
    constexpr int kWide = kVectorBytes / sizeof(T);
    if (rows == kAttentionManyRows) {
      return KernelCall::Of(
          is_wide ? Attention<T, kWide, kAttentionManyRows> : Attention<T, 1, kAttentionManyRows>,
          shape, p);
    }
    return KernelCall::Of(is_wide ? Attention<T, kWide, 1> : Attention<T, 1, 1>, shape, p);
  });
}

}  // namespace onnx_cudnn
