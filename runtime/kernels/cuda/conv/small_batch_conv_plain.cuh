// The plain form of small_batch_conv (small_batch_conv.h), with the steps of small_batch_conv.cuh.
// The addresses of all copies are computed before the wait for the preceding launch; after it,
// products of the first copies overlap with later copies. Warps that share K take every kK-th unit
// of it: one step, or the three steps of a row of taps.
#pragma once

#include <iterator>
#include <tuple>
#include <type_traits>

#include "runtime/kernels/cuda/common/cluster.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/conv/small_batch_conv_plain_copies.cuh"
#include "runtime/kernels/cuda/conv/small_batch_conv_plain_products.cuh"

namespace onnx_cudnn {
namespace small_batch_conv {

#if __CUDA_ARCH__ >= 900

// Keeps the compiler from recomputing `word` later.
__device__ __forceinline__ void Keep(uint32_t& word) { asm volatile("" : "+r"(word)); }
template <int kCount>
__device__ __forceinline__ void Keep(uint32_t (&words)[kCount]) {
#pragma unroll
  for (uint32_t& word : words) Keep(word);
}

// The groups of four filters ("fours") that a thread finishes, of kAll per tile, and their offsets.
// Each of `split` blocks finishes `own` of them, a power of two; thread t finishes those of its
// block whose index is t modulo 256.
template <int kPixels, int kFilters, bool kIsSplit>
struct OwnFours {
  static constexpr uint32_t kFours = kFilters / 4;  // per pixel
  static constexpr uint32_t kAll = kPixels * kFours;
  static constexpr int kRounds = (kAll + kSmallBatchThreads - 1) / kSmallBatchThreads;
  static constexpr int kMost = kIsSplit ? (kRounds + 1) / 2 : kRounds;  // per thread
  uint32_t first;      // the thread's first four in the tile
  bool is_there;       // otherwise another block finishes it, or it is beyond the tile
  uint32_t at[kMost];  // elements after the first output, or kNone

  template <typename P>
  __device__ __forceinline__ OwnFours(const P& p, const TilePlace& tile, uint32_t part,
                                      uint32_t own) {
    const uint32_t from = kIsSplit ? part * own : 0;
    first = from / kSmallBatchThreads * kSmallBatchThreads + threadIdx.x;
    constexpr bool kAllAreThere = !kIsSplit && kAll >= kSmallBatchThreads;
    is_there = kAllAreThere || own >= kSmallBatchThreads || first - from < own;
    const uint32_t begin = blockIdx.z * ConvOf(p).pixels;
    const uint32_t filter = blockIdx.y * kFilters + threadIdx.x % kFours * 4;
#pragma unroll
    for (int e = 0; e < kMost; ++e) {
      at[e] = kNone;
      if (!is_there || (kIsSplit && e * kSmallBatchThreads >= own)) continue;
      const uint32_t pixel = OutputOf(p, tile, PixelAt(e));
      if (pixel != kNone) at[e] = (begin + pixel) * ConvOf(p).pitch + filter;
    }
  }
  __device__ __forceinline__ uint32_t PixelAt(int e) const {  // index in the tile
    return (first + e * kSmallBatchThreads) / kFours;
  }
  // 0 if there is none.
  template <typename T>
  __device__ __forceinline__ void LoadResidual(const void* from, uint2 (&residual)[kMost]) const {
#pragma unroll
    for (int e = 0; e < kMost; ++e) {
      residual[e] = make_uint2(0, 0);
      if (from == nullptr || at[e] == kNone) continue;
      residual[e] = __ldcg(reinterpret_cast<const uint2*>(static_cast<const T*>(from) + at[e]));
    }
  }
};

// Adds the sums that the other blocks of the cluster sent, in a fixed order. `received`: those of
// part 0.
__device__ __forceinline__ void AddReceived(const float4* received, uint32_t part, uint32_t split,
                                            uint32_t own, float4& sum) {
  Add(sum, received[(part ^ 1) * own]);
  if (split == 2) return;
  Add(sum, received[(part ^ 2) * own]);
  Add(sum, received[(part ^ 3) * own]);
  if (split == 4) return;
#pragma unroll
  for (uint32_t i = 4; i < 8; ++i) Add(sum, received[(part ^ i) * own]);
}

// The part of K of a block in the cluster; all of K if there is one block.
struct ClusterSplit {
  uint32_t log_split, part, own;  // own: fours that the block finishes
  uint32_t base;                  // of shared memory
  uint32_t weights_came, sums_came;

  // `all`: fours per tile; `barriers`: two.
  __device__ __forceinline__ ClusterSplit(uint32_t log_split, uint32_t all, uint32_t shared,
                                          uint32_t barriers)
      : log_split(log_split),
        part(blockIdx.x & ((1u << log_split) - 1)),
        own(all >> log_split),
        base(shared),
        weights_came(barriers),
        sums_came(barriers + 8) {}
  __device__ __forceinline__ uint32_t blocks() const { return 1u << log_split; }
};

// Starts loading the weights, and tells the other blocks of the cluster that they may send.
template <bool kIsSplit>
__device__ __forceinline__ void Begin(const SmallBatchConvPlainParameters& p,
                                      const ClusterSplit& split) {
  if (threadIdx.x == 0) {
    BarrierInit(split.weights_came, 1);
    if (kIsSplit) BarrierInit(split.sums_came, 1);
    BarrierInitFence();
    SharedFence();
    BarrierExpect(split.weights_came, p.slab_bytes);
    const uint64_t slab = blockIdx.y << split.log_split | split.part;
    LoadBytes(split.base, static_cast<const char*>(p.slabs) + slab * p.slab_bytes, p.slab_bytes,
              split.weights_came);
    if (kIsSplit) BarrierExpect(split.sums_came, (split.blocks() - 1) * split.own * 16);
  }
  if constexpr (kIsSplit) ClusterArrive();
}

// Waits for the copies and multiplies. The second source is used if kHasSecond.
template <bool kHasSecond, typename First, typename Second, typename Sums>
__device__ __forceinline__ void RunProducts(const SmallBatchConvPlainParameters& p, First& first,
                                            Second& second, Sums& sums) {
  constexpr bool kAreAlike = std::is_same_v<First, Second>;
  constexpr uint32_t kStepsOfUnit = First::kStepsOfUnit;
  if constexpr (kHasSecond && !kAreAlike) {
    EarlyCopiesAreDone();
    __syncthreads();
    first.Run(p.source[0].steps / kStepsOfUnit, sums);
    CopiesAreDone();
    __syncthreads();
    second.Run(p.source[1].steps, sums);
    return;
  }
  // A loop, so that both groups of copies share one copy of the code.
  uint32_t end = (kHasSecond ? p.source[0].steps : p.early_steps) / kStepsOfUnit;
  bool is_last = !kHasSecond && p.early_groups == 0;
#pragma unroll 1
  for (;;) {
    if (is_last) {
      CopiesAreDone();
    } else {
      EarlyCopiesAreDone();
    }
    __syncthreads();
    first.Run(end, sums);
    if (is_last) return;
    is_last = true;
    end = p.source[kHasSecond ? 1 : 0].steps / kStepsOfUnit;
    if constexpr (kHasSecond && kAreAlike) first = second;
  }
}

// Adds the sums of all warps for fours that other blocks finish, and sends them.
template <typename Own, typename Partial>
__device__ __forceinline__ void SendSums(const ClusterSplit& split, uint32_t received_at,
                                         const float* partial) {
  const uint32_t own_bits = 31 - __clz(Own::kAll) - split.log_split;
#pragma unroll
  for (int e = 0; e < Own::kRounds; ++e) {
    const uint32_t at = threadIdx.x + e * kSmallBatchThreads, owner = at >> own_bits;
    if (at >= Own::kAll || owner == split.part) continue;
    const uint32_t there = AddressIn(split.base, owner);
    const uint32_t to = received_at + (split.part * split.own + (at & (split.own - 1))) * 16;
    Send(there + to, there + (split.sums_came - split.base),
         Partial::Sum(partial + Partial::Four(at / Own::kFours, at % Own::kFours)));
  }
}

// Adds the sums of all warps and blocks, bias and residual, and applies the activation, for the
// thread's fours.
//   partial   of its first four
//   received  sums of the other blocks
template <typename T, typename Partial, bool kIsSplit, bool kActivates, typename Own>
__device__ __forceinline__ void Finish(const SmallBatchConvPlainParameters& p,
                                       const ClusterSplit& split, const Own& fours,
                                       const uint2 (&residual)[Own::kMost], const float4& bias,
                                       const float* partial, const float4* received) {
  float4 sum[Own::kMost];
#pragma unroll
  for (int e = 0; e < Own::kMost; ++e) {
    if (kIsSplit && e > 0 && fours.at[e] == kNone) continue;  // beyond the pixels of the tile
    sum[e] = Partial::Sum(partial + e * (kSmallBatchThreads / Own::kFours) * Partial::kRow);
    Add(sum[e], bias);
    Add(sum[e], Unpacked<T>(residual[e]));
  }
  if constexpr (kIsSplit) ClusterBarrierWait(split.sums_came, 0);
#pragma unroll
  for (int e = 0; e < Own::kMost; ++e) {
    if (fours.at[e] == kNone) continue;
    if constexpr (kIsSplit) {
      const uint32_t at = (fours.first + e * kSmallBatchThreads) & (split.own - 1);
      AddReceived(received + at, split.part, split.blocks(), split.own, sum[e]);
    }
    if constexpr (kActivates) sum[e] = Activated<T>(p.activation, sum[e]);
    *reinterpret_cast<uint2*>(static_cast<T*>(p.y) + fours.at[e]) = Packed<T>(sum[e], p.activation);
  }
}

// The copies and products of the first source.
template <typename T, int kPixels>
__device__ __forceinline__ auto FirstCopies(const SmallBatchConvPlainWindowParameters& p,
                                            const TilePlace& tile, uint32_t part, uint32_t shared) {
  return WindowCopies<T>(p, tile, part, shared);
}
template <typename T, int kPixels>
__device__ __forceinline__ auto FirstCopies(const SmallBatchConvPlainParameters& p,
                                            const TilePlace& tile, uint32_t part, uint32_t shared) {
  return PixelCopies<T, kPixels>(p, p.source[0], tile, part, shared);
}
template <typename T, uint32_t kWarpsK, typename W>
__device__ __forceinline__ auto FirstProducts(const SmallBatchConvPlainWindowParameters& p,
                                              const W& warp, uint32_t lane, uint32_t shared) {
  return WindowProducts<T, kWarpsK>(p, warp, lane, shared);
}
template <typename T, uint32_t kWarpsK, typename W>
__device__ __forceinline__ auto FirstProducts(const SmallBatchConvPlainParameters& p, const W& warp,
                                              uint32_t lane, uint32_t shared) {
  return PixelProducts<T, kWarpsK>(p, p.source[0], warp, warp.k, lane, shared);
}

template <typename T, int kPixels, int kFilters, bool kHasWindow, bool kHasSecond, bool kIsSplit,
          bool kActivates>
__device__ __forceinline__ void RunPlain(const PlainParameters<kHasWindow>& parameters) {
  using W = Warps<kPixels, kFilters>;
  using Own = OwnFours<kPixels, kFilters, kIsSplit>;
  using Partial = PartialSums<kPixels, kFilters>;
  extern __shared__ __align__(128) char shared[];
  __shared__ __align__(8) uint64_t barriers[2];
  const SmallBatchConvPlainParameters& p = ConvOf(parameters);
  const uint32_t thread = threadIdx.x, lane = thread % 32;
  const ClusterSplit split(kIsSplit ? p.log_split : 0, Own::kAll, SharedAddress(shared),
                           SharedAddress(barriers));
  const uint32_t part = split.part, base = split.base;
  LetNextStart(p.next_uses_pdl && !p.next_starts_late);
  Begin<kIsSplit>(p, split);

  const TilePlace tile = PlaceOf(parameters, blockIdx.x >> split.log_split, kPixels);
  const W warp = WarpsOf<kPixels, kFilters>(thread / 32);
  auto first = FirstCopies<T, kPixels>(parameters, tile, part, base);
  PixelCopies<T, kPixels> second(parameters, p.source[1], tile, part, base);
  // The compiler would compute addresses after the wait. This store never happens, but needs them
  // before it.
  if (p.slab_bytes == 0) {
    *reinterpret_cast<uint32_t*>(shared) = first.Digest() ^ (kHasSecond ? second.Digest() : 0);
  }
  WaitForLaunchBefore();

  StartCopies(first, p.early_groups);
  if constexpr (kHasSecond) {
    EndCopies();
    StartCopies(second, 0);
  }
  EndCopies();
  // This takes less time than the copies.
  Own fours(parameters, tile, part, split.own);
  uint2 residual[Own::kMost];
  fours.template LoadResidual<T>(p.residual, residual);
  LetNextStart(p.next_uses_pdl && p.next_starts_late);
  auto products = FirstProducts<T, W::kK>(parameters, warp, lane, base);
  // Warps with the least work of the first source get the most of the second.
  PixelProducts<T, W::kK> second_products(p, p.source[1], warp, W::kK - 1 - warp.k, lane, base);
  const uint32_t four = thread % Own::kFours;
  uint32_t mine = Partial::Mine(warp, lane), sum_from = Partial::Four(fours.PixelAt(0), four);
  uint32_t bias_at = kFilters * p.row_bytes + four * 16;
  Keep(mine);
  Keep(sum_from);
  Keep(bias_at);
  Keep(fours.at);
  if (thread == 0) BarrierWait(split.weights_came, 0);  // other threads wait at the block's barrier
  if constexpr (kIsSplit) ClusterWait();

  typename W::Sums sums = {};
  RunProducts<kHasSecond>(p, products, second_products, sums);
  __syncthreads();  // the patches have been read; partial sums replace them
  float* partial = reinterpret_cast<float*>(shared + p.source[0].patch_at);
  Partial::Write(partial + mine, sums);
  __syncthreads();
  if constexpr (kIsSplit) SendSums<Own, Partial>(split, p.received_at, partial);
  if (!fours.is_there) return;
  const float4 bias = *reinterpret_cast<const float4*>(shared + bias_at);
  Finish<T, Partial, kIsSplit, kActivates>(p, split, fours, residual, bias, partial + sum_from,
                                           reinterpret_cast<const float4*>(shared + p.received_at));
}

#endif  // __CUDA_ARCH__ >= 900

template <typename T, int kPixels, int kFilters, bool kHasWindow, bool kHasSecond, bool kIsSplit,
          bool kActivates>
__global__ void __launch_bounds__(kSmallBatchThreads, 3)
    SmallBatchConvPlain(const __grid_constant__ PlainParameters<kHasWindow> p) {
#if __CUDA_ARCH__ >= 900
  RunPlain<T, kPixels, kFilters, kHasWindow, kHasSecond, kIsSplit, kActivates>(p);
#endif
}

// Turns the flags of the form into template arguments, one by one. A second source with an
// activation is not supported.
template <typename T, int kPixels, int kFilters, bool... kFlags>
KernelCall PlainCallOfTile(const SmallBatchConvPlainForm& form, const LaunchShape& shape,
                           const SmallBatchConvPlainWindowParameters& p) {
  const bool flags[] = {form.has_window, form.has_second, form.is_split, form.activates};
  if constexpr (sizeof...(kFlags) == std::size(flags)) {
    constexpr std::tuple kForm(kFlags...);
    if constexpr (std::get<1>(kForm) && std::get<3>(kForm)) {
      return {};
    } else if constexpr (std::get<0>(kForm)) {
      return KernelCall::Of(SmallBatchConvPlain<T, kPixels, kFilters, kFlags...>, shape, p);
    } else {
      return KernelCall::Of(SmallBatchConvPlain<T, kPixels, kFilters, kFlags...>, shape, p.conv);
    }
  } else {
    return flags[sizeof...(kFlags)]
               ? PlainCallOfTile<T, kPixels, kFilters, kFlags..., true>(form, shape, p)
               : PlainCallOfTile<T, kPixels, kFilters, kFlags..., false>(form, shape, p);
  }
}

template <typename T>
KernelCall PlainCallOf(const SmallBatchConvPlainForm& form, const LaunchShape& shape,
                       const SmallBatchConvPlainWindowParameters& p) {
  if (form.pixels == 32 && form.filters == 16) return PlainCallOfTile<T, 32, 16>(form, shape, p);
  if (form.pixels == 32 && form.filters == 32) return PlainCallOfTile<T, 32, 32>(form, shape, p);
  if (form.pixels == 32) return PlainCallOfTile<T, 32, 64>(form, shape, p);
  if (form.filters == 16) return PlainCallOfTile<T, 64, 16>(form, shape, p);
  if (form.filters == 32) return PlainCallOfTile<T, 64, 32>(form, shape, p);
  return PlainCallOfTile<T, 64, 64>(form, shape, p);
}

}  // namespace small_batch_conv
}  // namespace onnx_cudnn
