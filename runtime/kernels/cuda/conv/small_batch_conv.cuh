// Convolutions of few images on tensor cores (sm_90). Steps:
//   allow the next launch to start
//   start loading this block's weights (one bulk copy), compute tables of addresses
//   wait for the preceding launch; load patches of the images by cp.async, a residual to registers
//   multiply: each warp computes 32 pixels × 16 or 32 filters over every warps_k-th step of K
//   add the sums of warps through shared memory, those of the cluster in the owner's shared memory
//   add bias and residual, apply the activation or epilogue program, store
// Sums are formed in a fixed order, so repeated runs are bit-equal. A NaN or infinity in a pixel
// beside the window of a stem, in its last step of K, spreads to the result.
#pragma once

#include "runtime/kernels/cuda/common/cluster.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/conv/small_batch_conv_patches.cuh"

namespace onnx_cudnn {
namespace small_batch_conv {

#if __CUDA_ARCH__ >= 900

// Barriers: the weights have arrived; the sums of the cluster's other blocks have arrived.
struct Came {
  uint32_t weights, sums;
};

// Starts loading the block's weights. Runs in one thread. `own`: groups of four filters that the
// block finishes.
__device__ __forceinline__ void StartWeights(const Parameters& p, const Block& block,
                                             const Came& came, int own, const char* shared) {
  BarrierInit(came.weights, 1);
  BarrierInit(came.sums, 1);
  BarrierInitFence();
  SharedFence();
  BarrierExpect(came.weights, p.slab_bytes);
  const int64_t slab = static_cast<int64_t>(block.filters) * p.split + block.part;
  LoadBytes(SharedAddress(shared), static_cast<const char*>(p.slabs) + slab * p.slab_bytes,
            p.slab_bytes, came.weights);
  if (p.split > 1) BarrierExpect(came.sums, (p.split - 1) * own * 16);
}

// Addresses in the patches and the weights that a lane reads in the first step.
struct LaneOperands {
  uint32_t a[kSmallBatchSources][2], b[2];

  template <typename W>
  __device__ __forceinline__ LaneOperands(const Parameters& p, const W& warp, int lane,
                                          const char* shared, const char* patch) {
#pragma unroll
    for (int i = 0; i < kSmallBatchSources; ++i) {
      if (i >= p.sources) break;
      const uint32_t base = SharedAddress(patch + p.image[i].patch_at) + LanePixelBytes(lane);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        a[i][j] = base + SmallBatchPixelBytes(p.source[i], p.tiling, LanePixel(warp.m, j, lane));
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      b[i] = SharedAddress(shared) + LaneFilter(warp.n, i, lane) * SmallBatchRowBytes(p.steps) +
             LaneFilterBytes(lane);
    }
  }
};

// The groups of four filters ("fours") that a thread finishes: every kSmallBatchThreads-th of the
// `own` ones of its block.
template <int kPixels, int kFilters>
struct OwnOutputs {
  static constexpr int kFours = kFilters / 4;                                         // per pixel
  static constexpr int kAll = kPixels * kFours;                                       // per tile
  static constexpr int kMost = (kAll + kSmallBatchThreads - 1) / kSmallBatchThreads;  // per thread
  int own, first_own;  // number of the block's fours; index of the first one in the tile
  int four, filter;    // equal for all fours of a thread
  int64_t at[kMost];   // offset in the output, in elements; -1: none

  __device__ __forceinline__ OwnOutputs(const Parameters& p, const Block& block,
                                        const SmallBatchConvOutput& out, const int* table)
      : own(kAll >> p.log_split),
        first_own(block.part * own),
        four(static_cast<int>(threadIdx.x) % kFours),
        filter(block.first_filter + four * 4) {
    const int64_t image_row = static_cast<int64_t>(block.image) * p.tiling.rows * p.tiling.columns;
#pragma unroll
    for (int e = 0; e < kMost; ++e) {
      const int i = static_cast<int>(threadIdx.x) + e * kSmallBatchThreads;
      const int pixel = i < own && filter < out.filters ? table[PixelOf(i)] : -1;
      at[e] = pixel < 0 ? -1 : (image_row + pixel) * out.pitch + filter;
    }
  }
  // The pixel of the tile that the block's four `i` belongs to.
  __device__ __forceinline__ int PixelOf(int i) const { return (first_own + i) / kFours; }

  // The values of a residual; 0 if there is none.
  template <typename T>
  __device__ __forceinline__ void LoadResidual(const void* from, uint2 (&residual)[kMost]) const {
#pragma unroll
    for (int e = 0; e < kMost; ++e) {
      residual[e] = make_uint2(0, 0);
      if (from == nullptr || at[e] < 0) continue;
      residual[e] = __ldcg(reinterpret_cast<const uint2*>(static_cast<const T*>(from) + at[e]));
    }
  }
};

template <typename T, typename W>
__device__ __forceinline__ void MultiplySteps(const Parameters& p, const W& warp,
                                              const LaneOperands& from, const int* step_table,
                                              typename W::Sums& sums) {
  int step = warp.k;
#pragma unroll
  for (int i = 0; i < kSmallBatchSources; ++i) {
    if (i >= p.sources) break;
    const int end = p.source[i].first_step + p.source[i].steps;
#pragma unroll 4
    for (; step < end; step += W::kK) {
      Step<T>(sums, from.a[i], from.b, step_table[step], step * (2 * kSmallBatchStep));
    }
  }
}

// Adds the sums of all warps for fours that other blocks of the cluster finish, and sends them.
template <typename Own, typename Partial>
__device__ __forceinline__ void SendSums(const Own& outputs, int part, const float* partial,
                                         const float4* received, uint32_t came) {
  const int own = outputs.own, own_bits = 31 - __clz(own);
#pragma unroll
  for (int first = 0; first < Own::kAll; first += kSmallBatchThreads) {
    const int at = first + static_cast<int>(threadIdx.x), owner = at >> own_bits;
    if (at >= Own::kAll || owner == part) continue;
    const uint32_t to = SharedAddress(received + part * own + (at & (own - 1)));
    Send(AddressIn(to, owner), AddressIn(came, owner),
         Partial::Sum(partial + Partial::Four(at / Own::kFours, outputs.four)));
  }
}

// Adds the sums of all warps and blocks, bias and residual, and applies the activation, for the
// thread's fours. If an epilogue program follows, stores the sums where the partial sums were.
template <typename T, bool kHasProgram, typename Partial, typename Own>
__device__ __forceinline__ void Finish(const Parameters& p, const Block& block,
                                       const SmallBatchConvOutput& out, const Own& outputs,
                                       const uint2 (&residual)[Own::kMost], const float4& bias,
                                       const float4* received, float* partial) {
#pragma unroll
  for (int e = 0; e < Own::kMost; ++e) {
    const int at = static_cast<int>(threadIdx.x) + e * kSmallBatchThreads;
    if (at >= outputs.own) break;
    float* const from = partial + Partial::Four(outputs.PixelOf(at), outputs.four);
    float4 sum = Partial::Sum(from);
    for (int part = 0; part < p.split; ++part) {
      if (part != block.part) Add(sum, received[part * outputs.own + at]);
    }
    Add(sum, bias);
    if (kHasProgram && out.epilogue >= 0) {
      *reinterpret_cast<float4*>(from) = sum;  // no other thread reads it
    } else if (outputs.at[e] >= 0) {
      if (out.residual != nullptr) Add(sum, Unpacked<T>(residual[e]));
      if (kHasProgram) sum = Activated<T>(out.activation, sum);
      *reinterpret_cast<uint2*>(static_cast<T*>(out.y) + outputs.at[e]) =
          Packed<T>(sum, out.activation);
    }
  }
}

// Runs the epilogue program on the sums that Finish stored.
template <typename Own, typename Partial>
__device__ __forceinline__ void RunEpilogue(const Parameters& p, const EpilogueProgram& program,
                                            const Block& block, const Own& outputs, int epilogue,
                                            const int* table, float* partial) {
  // Not unrolled, so that there is one copy of the program's code.
#pragma unroll 1
  for (int at = static_cast<int>(threadIdx.x); at < outputs.own; at += kSmallBatchThreads) {
    const int m = outputs.PixelOf(at), pixel = table[m];
    if (pixel < 0) continue;
    const float4 sum = *reinterpret_cast<float4*>(partial + Partial::Four(m, outputs.four));
    EpilogueRunner(program, {{sum.x, sum.y, sum.z, sum.w}})
        .Run(epilogue,
             {block.image, outputs.filter, 0, pixel / p.tiling.columns, pixel % p.tiling.columns},
             kEpilogueLanes, kEpilogueLanes, false, {});
  }
}

// Everything that does not depend on the preceding launch, above all addresses, is computed before
// the wait for it.
//   program  used if kHasProgram
template <typename T, int kPixels, int kFilters, bool kHasProgram>
__device__ __forceinline__ void Run(const Parameters& p, const EpilogueProgram* program) {
  using Own = OwnOutputs<kPixels, kFilters>;
  using Partial = PartialSums<kPixels, kFilters>;
  extern __shared__ __align__(128) char shared[];
  __shared__ __align__(8) uint64_t barriers[2];
  const int thread = threadIdx.x, lane = thread % 32;
  using W = Warps<kPixels, kFilters>;
  const W warp = WarpsOf<kPixels, kFilters>(thread / 32);
  const Block block = BlockOf<kFilters>(p);
  const Came came = {SharedAddress(barriers), SharedAddress(barriers) + 8};
  char* patch = shared + p.patch_at;
  float4* received = reinterpret_cast<float4*>(shared + p.received_at);
  int* table = reinterpret_cast<int*>(shared + p.table_at);

  LetNextStart(p.next_uses_pdl);
  if (thread == 0) StartWeights(p, block, came, Own::kAll >> p.log_split, shared);
  if (p.split > 1) ClusterArrive();
  MakeTables<kPixels>(p, block, table);
#pragma unroll
  for (int i = 0; i < kSmallBatchSources; ++i) {
    if (i < p.sources) ClearStem(p.source[i], patch + p.image[i].patch_at);
  }
  const LaneOperands operands(p, warp, lane, shared, patch);
  __syncthreads();
  const SmallBatchConvOutput out = p.output[block.sibling];
  const Own outputs(p, block, out, table);
  WaitForLaunchBefore();

  BringPatches<T, kHasProgram>(p, program, block, table, patch);
  uint2 residual[Own::kMost];
  outputs.template LoadResidual<T>(out.residual, residual);
  if (p.split > 1) ClusterWait();
  CopiesAreDone();
  __syncthreads();
  BarrierWait(came.weights, 0);
  typename W::Sums sums = {};
  MultiplySteps<T>(p, warp, operands, table + p.step_table_at, sums);

  __syncthreads();  // the patches have been read; partial sums replace them
  float* partial = reinterpret_cast<float*>(patch);
  Partial::Write(partial + Partial::Mine(warp, lane), sums);
  __syncthreads();
  if (p.split > 1) SendSums<Own, Partial>(outputs, block.part, partial, received, came.sums);
  const float4 bias = *reinterpret_cast<const float4*>(
      shared + kFilters * SmallBatchRowBytes(p.steps) + outputs.four * 16);
  if (p.split > 1) ClusterBarrierWait(came.sums, 0);
  Finish<T, kHasProgram, Partial>(p, block, out, outputs, residual, bias, received, partial);
  if constexpr (kHasProgram) {
    if (out.epilogue < 0 || outputs.filter >= out.filters) return;
    RunEpilogue<Own, Partial>(p, *program, block, outputs, out.epilogue, table, partial);
  }
}

#endif  // __CUDA_ARCH__ >= 900

template <typename T, int kPixels, int kFilters>
__global__ void __launch_bounds__(kSmallBatchThreads, 2)
    SmallBatchConv(const __grid_constant__ Parameters p) {
#if __CUDA_ARCH__ >= 900
  Run<T, kPixels, kFilters, false>(p, nullptr);
#endif
}

template <typename T, int kPixels, int kFilters>
__global__ void __launch_bounds__(kSmallBatchThreads, 2)
    SmallBatchConvWithProgram(const __grid_constant__ SmallBatchConvWithProgramParameters p) {
#if __CUDA_ARCH__ >= 900
  Run<T, kPixels, kFilters, true>(p.conv, &p.program);
#endif
}

template <typename T, int kPixels, int kFilters>
KernelCall CallOfTile(const LaunchShape& shape, const Parameters& p,
                      const EpilogueProgram* program) {
  if (program == nullptr) return KernelCall::Of(SmallBatchConv<T, kPixels, kFilters>, shape, p);
  return KernelCall::Of(SmallBatchConvWithProgram<T, kPixels, kFilters>, shape,
                        SmallBatchConvWithProgramParameters{p, *program});
}

template <typename T>
KernelCall CallOf(int pixels, int filters, const LaunchShape& shape, const Parameters& p,
                  const EpilogueProgram* program) {
  if (pixels == 32 && filters == 16) return CallOfTile<T, 32, 16>(shape, p, program);
  if (pixels == 32 && filters == 32) return CallOfTile<T, 32, 32>(shape, p, program);
  if (pixels == 32) return CallOfTile<T, 32, 64>(shape, p, program);
  if (filters == 16) return CallOfTile<T, 64, 16>(shape, p, program);
  if (filters == 32) return CallOfTile<T, 64, 32>(shape, p, program);
  return CallOfTile<T, 64, 64>(shape, p, program);
}

}  // namespace small_batch_conv
}  // namespace onnx_cudnn
