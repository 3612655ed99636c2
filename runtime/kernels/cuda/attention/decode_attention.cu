// Attention of few queries over many keys, split over blocks (flash decoding). A warp takes 16 keys
// at a time straight from memory into registers: the channels of k and the keys of v are permuted
// within the sums so that each lane's part of an mma.sync operand is 16 adjacent bytes. Warps, then
// blocks are combined in a fixed order, so repeated runs are bit-equal.
#include "runtime/kernels/cuda/attention/decode_attention.h"

#include <cstddef>
#include <limits>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/mma.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"
#include "runtime/kernels/cuda/common/vectors.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kWarp = 32, kWarps = kDecodeThreads / kWarp;
constexpr int kKeys = 16;  // that a warp takes at once
constexpr float kNone = -std::numeric_limits<float>::infinity();

// Two numbers as one register of an operand.
template <typename T>
__device__ __forceinline__ uint32_t Packed(float low, float high) {
  const Vector<T, 2> both{{Narrow<T>(low), Narrow<T>(high)}};
  return reinterpret_cast<const uint32_t&>(both);
}

// The largest score of no key is -inf; weights relative to it are then 0, not NaN.
__device__ __forceinline__ float Finite(float largest) { return largest == kNone ? 0 : largest; }

// A warp's part of a tile: rows g and g + 8 of lane 4g + t.
template <int kChannels>
struct Tile {
  float y[kChannels / 8][4];  // sums of weight · v; tile j, columns of lane 2t, 2t + 1
  float largest[2], sum[2];   // of scores, of weights
};

// q as operand a: lane t holds, of each 32 channels, its 8 adjacent ones.
template <typename T, int kChannels>
__device__ __forceinline__ void LoadQueries(const DecodeAttentionParameters& p, int64_t first_row,
                                            int left, int g, int t,
                                            uint32_t (&q)[kChannels / 16][4]) {
#pragma unroll
  for (int c = 0; c < kChannels / 32; ++c) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint4 words = {0, 0, 0, 0};
      if (g + 8 * half < left) {
        const T* at = static_cast<const T*>(p.q) + (first_row + g + 8 * half) * kChannels;
        words = *reinterpret_cast<const uint4*>(at + 32 * c + 8 * t);
      }
      q[2 * c][half] = words.x;
      q[2 * c][2 + half] = words.y;
      q[2 * c + 1][half] = words.z;
      q[2 * c + 1][2 + half] = words.w;
    }
  }
}

// The rows of the keys of one head, in k and v.
template <bool kPaged>
class Rows {
 public:
  __device__ __forceinline__ Rows(const DecodeAttentionParameters& p, int head)
      : p_(p), head_(head) {}

  __device__ __forceinline__ int64_t Of(int key) const {
    if constexpr (!kPaged) return static_cast<int64_t>(head_) * p_.keys + key;
    uint32_t at = static_cast<uint32_t>(key);  // of the page in the table
    const uint32_t row = p_.pages.page.Split(at);
    int64_t page = p_.pages.table[head_ / p_.kv_heads * p_.pages.each + at];
    if (page < -p_.pages.pages || page >= p_.pages.pages) {
      *p_.pages.fault = FaultWord({FaultKind::kIndex, 0, page});
      page = 0;
    }
    if (page < 0) page += p_.pages.pages;
    return (page * p_.pages.page.divisor + row) * p_.kv_heads + head_ % p_.kv_heads;
  }

 private:
  const DecodeAttentionParameters& p_;
  const int head_;
};

// Scores of 16 keys from `key` on in units of log2: s[n], columns 8n + 2t and 8n + 2t + 1. `last`
// is a key that may be read.
template <typename T, int kChannels, bool kPaged>
__device__ __forceinline__ void Score(const T* k, const Rows<kPaged>& rows, int key, int last,
                                      float factor, const uint32_t (&q)[kChannels / 16][4], int g,
                                      int t, float (&s)[2][4]) {
  uint4 words[2][kChannels / 32];
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const T* at = k + rows.Of(min(key + 8 * n + g, last)) * kChannels + 8 * t;
#pragma unroll
    for (int c = 0; c < kChannels / 32; ++c) {
      words[n][c] = __ldcs(reinterpret_cast<const uint4*>(at + 32 * c));
    }
  }
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) s[n][i] = 0;
#pragma unroll
    for (int c = 0; c < kChannels / 32; ++c) {
      Multiply(T(), s[n], q[2 * c], words[n][c].x, words[n][c].y);
      Multiply(T(), s[n], q[2 * c + 1], words[n][c].z, words[n][c].w);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      s[n][i] = key + 8 * n + 2 * t + i % 2 <= last ? s[n][i] * factor : kNone;
    }
  }
}

// Turns scores into weights relative to the largest so far, to which y and sum are rescaled.
template <int kChannels>
__device__ __forceinline__ void Weigh(float (&s)[2][4], Tile<kChannels>& tile) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = tile.largest[half];
#pragma unroll
    for (int n = 0; n < 2; ++n) largest = max(largest, max(s[n][2 * half], s[n][2 * half + 1]));
#pragma unroll
    for (int other = 1; other < 4; other *= 2) {
      largest = max(largest, __shfl_xor_sync(~0U, largest, other));
    }
    const float base = Finite(largest), shrinks = exp2f(tile.largest[half] - base);
    tile.largest[half] = largest;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        s[n][i] = exp2f(s[n][i] - base);
        sum += s[n][i];
      }
    }
    tile.sum[half] = tile.sum[half] * shrinks + sum;  // of the lane's columns
#pragma unroll
    for (int j = 0; j < kChannels / 8; ++j) {
      tile.y[j][2 * half] *= shrinks;
      tile.y[j][2 * half + 1] *= shrinks;
    }
  }
}

// y += weights · v. As operand b, column g of tile j is channel 8g + j % 8 of the 64 from 64 · (j /
// 8) on.
template <typename T, int kChannels, bool kPaged>
__device__ __forceinline__ void AddValues(const T* v, const Rows<kPaged>& rows, int key, int last,
                                          const float (&s)[2][4], int g, int t,
                                          Tile<kChannels>& tile) {
  const uint32_t a[4] = {Packed<T>(s[0][0], s[0][1]), Packed<T>(s[0][2], s[0][3]),
                         Packed<T>(s[1][0], s[1][1]), Packed<T>(s[1][2], s[1][3])};
#pragma unroll
  for (int c = 0; c < kChannels / 64; ++c) {
    uint32_t words[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int own = key + 8 * (i / 2) + 2 * t + i % 2;
      // Rows behind the last key may hold anything; their weight of 0 would not cancel a NaN.
      const T* at = v + rows.Of(min(own, last)) * kChannels + 64 * c + 8 * g;
      const uint4 read = __ldcs(reinterpret_cast<const uint4*>(at));
      words[i][0] = read.x;
      words[i][1] = read.y;
      words[i][2] = read.z;
      words[i][3] = read.w;
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const uint32_t selector = j % 2 == 0 ? 0x5410 : 0x7632;
      Multiply(T(), tile.y[8 * c + j], a, __byte_perm(words[0][j / 2], words[1][j / 2], selector),
               __byte_perm(words[2][j / 2], words[3][j / 2], selector));
    }
  }
}

// One warp's result in shared memory.
template <int kChannels>
struct Shared {
  float y[kWarps][kDecodeTileRows][kChannels];
  float largest[kWarps][kDecodeTileRows], sum[kWarps][kDecodeTileRows];
};

template <int kChannels>
__device__ __forceinline__ void Share(const Tile<kChannels>& tile, int warp, int g, int t,
                                      Shared<kChannels>& shared) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = tile.sum[half];
#pragma unroll
    for (int other = 1; other < 4; other *= 2) sum += __shfl_xor_sync(~0U, sum, other);
    const int row = g + 8 * half;
    if (t == 0) {
      shared.largest[warp][row] = tile.largest[half];
      shared.sum[warp][row] = sum;
    }
#pragma unroll
    for (int j = 0; j < kChannels / 8; ++j) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int channel = 64 * (j / 8) + 8 * (2 * t + i) + j % 8;
        shared.y[warp][row][channel] = tile.y[j][2 * half + i];
      }
    }
  }
}

template <typename T, int kChannels, bool kPaged>
__global__ void __launch_bounds__(kDecodeThreads)
    DecodeSplit(const __grid_constant__ DecodeAttentionParameters p) {
  WaitForLaunchBefore();
  __shared__ Shared<kChannels> shared;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int g = lane / 4, t = lane % 4;
  const int head = static_cast<int>(blockIdx.y) / p.tiles;
  const int row = static_cast<int>(blockIdx.y) % p.tiles * kDecodeTileRows;  // the tile's first
  const int left = min(p.rows - row, kDecodeTileRows);
  const int64_t first_row = static_cast<int64_t>(head) * p.rows + row;
  int length = p.keys;
  if (p.lengths != nullptr) {
    const int64_t given = p.lengths[head / p.kv_heads];
    length = given < 0 ? 0 : given < p.keys ? static_cast<int>(given) : p.keys;
  }
  constexpr int kRound = kWarps * kKeys;
  const int rounds = (length + kRound - 1) / kRound;
  const int own = (rounds + p.splits - 1) / p.splits * kRound;  // keys of a split
  const int begin = min(static_cast<int>(blockIdx.x) * own, length);
  const int end = min(begin + own, length);

  uint32_t q[kChannels / 16][4];
  LoadQueries<T, kChannels>(p, first_row, left, g, t, q);
  const Rows<kPaged> rows(p, head);
  const T *k = static_cast<const T*>(p.k), *v = static_cast<const T*>(p.v);
  Tile<kChannels> tile = {};
  tile.largest[0] = tile.largest[1] = kNone;
  for (int key = begin + warp * kKeys; key < end; key += kRound) {
    float s[2][4];
    Score<T, kChannels>(k, rows, key, end - 1, p.log2_scale, q, g, t, s);
    Weigh<kChannels>(s, tile);
    AddValues<T, kChannels>(v, rows, key, end - 1, s, g, t, tile);
  }
  Share<kChannels>(tile, warp, g, t, shared);
  __syncthreads();

  for (int at = thread; at < left * kChannels; at += kDecodeThreads) {
    const int r = at / kChannels, channel = at % kChannels;
    float largest = kNone, y = 0, sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) largest = max(largest, shared.largest[w][r]);
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float weight = exp2f(shared.largest[w][r] - Finite(largest));
      y += weight * shared.y[w][r][channel];
      sum += weight * shared.sum[w][r];
    }
    const int64_t to = first_row + r;
    if (p.splits == 1) {
      static_cast<T*>(p.y)[to * kChannels + channel] = Narrow<T>(sum == 0 ? 0.0F : y / sum);
      continue;
    }
    const int64_t partial = static_cast<int64_t>(blockIdx.x) * p.all_rows + to;
    p.sums[partial * kChannels + channel] = y;
    if (channel == 0) StoreVector(p.weights + 2 * partial, Vector<float, 2>{{largest, sum}});
  }
}

// A warp for each row: the splits in order.
template <typename T, int kChannels>
__global__ void __launch_bounds__(kDecodeThreads)
    CombineSplits(const __grid_constant__ DecodeAttentionParameters p) {
  WaitForLaunchBefore();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const int row = static_cast<int>(blockIdx.x) * kWarps + thread / kWarp;
  if (row >= p.all_rows) return;
  constexpr int kOwn = kChannels / kWarp;
  float largest = kNone, sum = 0;
  for (int i = 0; i < p.splits; ++i) {
    largest = max(largest, p.weights[2 * (static_cast<int64_t>(i) * p.all_rows + row)]);
  }
  Vector<float, kOwn> y = {};
#pragma unroll 4
  for (int i = 0; i < p.splits; ++i) {
    const int64_t partial = static_cast<int64_t>(i) * p.all_rows + row;
    const auto of_split = LoadVector<2>(p.weights + 2 * partial);
    const float weight = exp2f(of_split[0] - Finite(largest));
    const auto part = LoadVector<kOwn>(p.sums + partial * kChannels + lane * kOwn);
    sum += weight * of_split[1];
#pragma unroll
    for (int c = 0; c < kOwn; ++c) y[c] += weight * part[c];
  }
  Vector<T, kOwn> rounded;
#pragma unroll
  for (int c = 0; c < kOwn; ++c) rounded[c] = Narrow<T>(sum == 0 ? 0.0F : y[c] / sum);
  StoreVector(static_cast<T*>(p.y) + static_cast<int64_t>(row) * kChannels + lane * kOwn, rounded);
}

using DecodeKernel = void (*)(DecodeAttentionParameters);

template <typename T>
DecodeKernel SplitKernel(int channels, bool is_paged) {
  if (is_paged) return channels == 64 ? DecodeSplit<T, 64, true> : DecodeSplit<T, 128, true>;
  return channels == 64 ? DecodeSplit<T, 64, false> : DecodeSplit<T, 128, false>;
}

template <typename Select>
DecodeKernel KernelOf(DType dtype, const Select& select) {
  return DTypeVisitor<DecodeKernel, Half, BHalf>::Visit(dtype, select);
}

}  // namespace

KernelCall DecodeAttentionCall(DType dtype, int channels, const DecodeAttentionParameters& p) {
  const auto blocks = static_cast<unsigned>(p.all_rows / p.rows * p.tiles);
  const LaunchShape shape{.grid = {static_cast<unsigned>(p.splits), blocks},
                          .block = {kDecodeThreads}};
  return KernelCall::Of(KernelOf(dtype,
                                 [&](auto e) -> DecodeKernel {
                                   using T = decltype(e);
                                   return SplitKernel<T>(channels, p.pages.pages > 0);
                                 }),
                        shape, p);
}

KernelCall CombineSplitsCall(DType dtype, int channels, const DecodeAttentionParameters& p) {
  const auto blocks = static_cast<unsigned>((p.all_rows + kWarps - 1) / kWarps);
  const LaunchShape shape{.grid = {blocks}, .block = {kDecodeThreads}};
  return KernelCall::Of(KernelOf(dtype,
                                 [&](auto e) -> DecodeKernel {
                                   using T = decltype(e);
                                   return channels == 64 ? CombineSplits<T, 64>
                                                         : CombineSplits<T, 128>;
                                 }),
                        shape, p);
}

}  // namespace onnx_cudnn
