// A global average pooling and a product with few rows. A cluster computes some columns over all
// channels; each of its blocks has a part of the channels. Steps:
//   allow the next launch to start
//   start loading the block's weights to registers, initialize the cluster's barriers
//   wait for the preceding launch; each warp sums pixels of one image, each lane 8 channels
//   average over the warps of an image, through shared memory
//   multiply: each warp computes 16 columns × 64 channels, on tensor cores
//   send sums to the block that owns the columns, which adds those of all warps and blocks
// Sums are formed in a fixed order, so repeated runs are bit-equal.
#include "runtime/kernels/cuda/fused/pool_gemv.h"

#include "runtime/kernels/cuda/common/cluster.cuh"
#include "runtime/kernels/cuda/common/copy_engine.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/mma.cuh"
#include "runtime/kernels/cuda/fused/pixel_share.cuh"
#include "runtime/kernels/cuda/gemm/gemv.cuh"

namespace onnx_cudnn {
namespace {

using Parameters = PoolGemvParameters;

constexpr int kLogWarp = 5, kWarp = 1 << kLogWarp;
constexpr int kLogThreads = 9, kThreads = 1 << kLogThreads;
static_assert(kThreads == kPoolGemvWarps * kWarp);
constexpr int kLogVector = 3;
static_assert(kPixelLanes == kPoolGemvVector && kPixelLanes == 1 << kLogVector);
// Sums are sent as two columns of two images. A block owns 2^kLogPairs pairs of columns if each sum
// is sent as one part, fewer if it is sent in several parts.
constexpr int kLogPairs = 4, kReceived = kPoolGemvBlocks << kLogPairs;
static_assert(2 * kReceived == PoolGemvColumns(0));
// Loads in flight per lane. With few, a block fits beside one of the preceding launch.
constexpr int kFewLoads = 4, kManyLoads = 8;

#if __CUDA_ARCH__ >= 900

constexpr int kMostImages = 8;
constexpr int kMostVectors = 1 << (kPoolGemvLogVectors + kPoolGemvMostLogParts);  // per block
// Padded so that adjacent images are in different banks.
constexpr int kPooledRow = kMostVectors + 4;

// The shared memory of a block.
struct Shared {
  float4 partial[kPoolGemvWarps][2 * kMostVectors];  // sums: first halves, then second halves
  Words pooled[kMostImages][kPooledRow];
  float4 received[kReceived][kMostImages / 2];
};

// A warp's part of the product. Rows `group` and `group` + 8 are two adjacent columns of y; the
// depth is channels 8 · `four` and up of each 32.
struct ProductPlace {
  int rank, part, tile, group, four;

  __device__ __forceinline__ ProductPlace(const Parameters& p, int warp, int lane)
      : rank(static_cast<int>(blockIdx.x) % kPoolGemvBlocks),
        part(warp & ((1 << p.log_parts) - 1)),
        tile(warp >> p.log_parts),
        group(lane / 4),
        four(lane % 4) {}
  __device__ __forceinline__ int VectorOf(int half) const {  // within the block
    return (part << kPoolGemvLogVectors) + half * 4 + four;
  }
};

// Columns beyond the last repeat it.
__device__ __forceinline__ void LoadWeights(const Parameters& p, const ProductPlace& place,
                                            int first_column, int first_vector, int vectors,
                                            Words (&weights)[2][2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int column =
        min(first_column + place.tile * kPoolGemvTile + 2 * place.group + i, p.columns - 1);
    const Words* w = static_cast<const Words*>(p.w) + static_cast<int64_t>(column) * p.vectors;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int vector = place.VectorOf(h);
      if (vector < vectors) weights[i][h] = LoadWords(w + first_vector + vector);
    }
  }
}

// Averages over the warps of an image. A thread computes one channel of several images, as the
// number of threads allows.
template <typename T>
__device__ __forceinline__ void AverageImages(const Parameters& p, int log_vectors,
                                              Shared& shared) {
  const int thread = static_cast<int>(threadIdx.x), warps = static_cast<int>(p.warps.divisor);
  const int log_channels = log_vectors + kLogVector, at = thread & ((1 << log_channels) - 1);
  for (int i = thread >> log_channels; i < p.images; i += kThreads >> log_channels) {
    float sum = 0;
#pragma unroll 8
    for (int w = 0; w < warps; ++w) {
      sum += reinterpret_cast<const float*>(shared.partial[i * warps + w])[at];
    }
    const int half = at >> (log_vectors + 2), of_half = at / 4 & ((1 << log_vectors) - 1);
    T* to = reinterpret_cast<T*>(&shared.pooled[i][of_half]) + half * 4 + at % 4;
    *to = Narrow<T>(sum / static_cast<float>(p.pixels));
  }
}

// Multiplies and sends the sums to the block that owns the columns. Images beyond the last repeat
// it.
template <typename T>
__device__ __forceinline__ void SendProducts(const Parameters& p, const ProductPlace& place,
                                             const Words (&weights)[2][2], int log_pairs,
                                             uint32_t came, Shared& shared) {
  float sums[2][4] = {};
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const Words averages = shared.pooled[min(place.group, p.images - 1)][place.VectorOf(h)];
    const Words &even = weights[0][h], &odd = weights[1][h];
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      Multiply(T{}, sums[h], {even[i], odd[i], even[i + 1], odd[i + 1]}, averages[i],
               averages[i + 1]);
    }
  }
  if (2 * place.four >= p.images) return;
  const int pair = place.tile * (kPoolGemvTile / 2) + place.group, owner = pair >> log_pairs;
  const int sender = (place.rank << p.log_parts) + place.part;
  const float4* to =
      &shared.received[(sender << log_pairs) + (pair & ((1 << log_pairs) - 1))][place.four];
  Send(AddressIn(SharedAddress(to), owner), AddressIn(came, owner),
       make_float4(sums[0][0] + sums[1][0], sums[0][1] + sums[1][1], sums[0][2] + sums[1][2],
                   sums[0][3] + sums[1][3]));
}

// The sums of a lane's pixels, and which pixels they are.
struct OwnPixels {
  PixelShare share;
  int vector;  // within the block

  // If a warp has more lanes than the block has vectors, several lanes share the pixels.
  __device__ __forceinline__ OwnPixels(const Parameters& p, int log_vectors, int first_vector,
                                       int vectors, int warp, int lane) {
    const int log_sharers = kLogWarp - log_vectors;
    vector = lane & ((1 << log_vectors) - 1);
    uint32_t image = warp;
    const int warp_of_image = static_cast<int>(p.warps.Split(image));
    const int first_pixel = (warp_of_image << log_sharers) + (lane >> log_vectors);
    const bool has_pixels = image < p.images && vector < vectors;
    share.x = static_cast<const uint4*>(p.x) + first_vector + vector +
              (static_cast<int>(image) * p.pixels + first_pixel) * p.vectors;
    share.step = static_cast<int>(p.warps.divisor << log_sharers);
    share.left = has_pixels ? p.pixels - first_pixel : 0;
    share.stride = share.step * p.vectors;
    share.Settle();
  }

  // Stores the warp's sums in `partial`.
  template <typename T, int kLoads>
  __device__ __forceinline__ void Sum(int log_vectors, int lane, float4* partial) const {
    const int most_vectors = 1 << log_vectors;
    float s[kPixelLanes] = {};
    AddPixels<T, kLoads>(share, s);
    for (int other = most_vectors; other < kWarp; other *= 2) {
#pragma unroll
      for (float& sum : s) sum += __shfl_xor_sync(~0U, sum, other);
    }
    if (lane >= most_vectors) return;
    partial[vector] = make_float4(s[0], s[1], s[2], s[3]);
    partial[most_vectors + vector] = make_float4(s[4], s[5], s[6], s[7]);
  }
};

template <typename T, int kLoads>
__device__ __forceinline__ void Run(const Parameters& p) {
  __shared__ Shared shared;
  __shared__ __align__(8) uint64_t barrier;
  const uint32_t sums_came = SharedAddress(&barrier);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const ProductPlace place(p, warp, lane);
  const int cluster = static_cast<int>(blockIdx.x) / kPoolGemvBlocks;
  const int first_column = cluster * PoolGemvColumns(p.log_parts);
  const int first_vector = place.rank * p.share;
  const int vectors = min(p.share, p.vectors - first_vector);  // of this block; may be negative

  LetNextStart(p.next_uses_pdl);
  if (thread == 0) {
    BarrierInit(sums_came, 1);
    BarrierInitFence();
    BarrierExpect(sums_came, kReceived * ((p.images + 1) / 2) * static_cast<int>(sizeof(float4)));
  }
  ClusterArrive();
  Words weights[2][2] = {};
  LoadWeights(p, place, first_column, first_vector, vectors, weights);

  // This thread's result: one image of a column that the block owns.
  const int log_pairs = kLogPairs - p.log_parts, pairs = 1 << log_pairs;
  const int own_column = thread & (2 * pairs - 1), own_image = thread >> (log_pairs + 1);
  const int column = first_column + place.rank * 2 * pairs + own_column;
  const bool has_result = own_image < p.images && column < p.columns;
  T bias{};  // converted at its use, so that nothing waits for it here
  if (has_result && p.epilogue.bias != nullptr) {
    bias = static_cast<const T*>(p.epilogue.bias)[column];
  }
  const int log_vectors = kPoolGemvLogVectors + p.log_parts;
  const OwnPixels own(p, log_vectors, first_vector, vectors, warp, lane);
  ClusterWait();
  WaitForLaunchBefore();

  own.Sum<T, kLoads>(log_vectors, lane, shared.partial[warp]);
  __syncthreads();
  AverageImages<T>(p, log_vectors, shared);
  __syncthreads();
  SendProducts<T>(p, place, weights, log_pairs, sums_came, shared);

  if (own_image >= p.images) return;
  // Threads without a result wait too, since other blocks write to this one until then.
  ClusterBarrierWait(sums_came, 0);
  if (!has_result) return;
  float sum = 0;
#pragma unroll 8
  for (int slot = own_column / 2; slot < kReceived; slot += pairs) {
    const auto* four_sums = reinterpret_cast<const float*>(&shared.received[slot][own_image / 2]);
    sum += four_sums[own_column % 2 * 2 + own_image % 2];
  }
  Store<T>(p.epilogue, static_cast<int64_t>(own_image) * p.columns + column, sum,
           Widen<float>(bias));
}

#endif  // __CUDA_ARCH__ >= 900

template <typename T, int kLoads>
__global__ void __launch_bounds__(kThreads, kLoads == kFewLoads ? 2 : 1)
    PoolGemv(const __grid_constant__ Parameters p) {
#if __CUDA_ARCH__ >= 900
  Run<T, kLoads>(p);
#endif
}

}  // namespace

KernelCall PoolGemvCall(DType dtype, const LaunchShape& shape, const Parameters& p) {
  const int log_sharers = kLogWarp - kPoolGemvLogVectors - p.log_parts;
  const bool are_few = p.pixels <= kFewLoads * static_cast<int>(p.warps.divisor << log_sharers);
  return DTypeVisitor<KernelCall, Half, BHalf>::Visit(dtype, [&](auto e) {
    using T = decltype(e);
    return are_few ? KernelCall::Of(PoolGemv<T, kFewLoads>, shape, p)
                   : KernelCall::Of(PoolGemv<T, kManyLoads>, shape, p);
  });
}

}  // namespace onnx_cudnn
