// A link of a chain of convolutions on tensor cores (sm_90). In order:
//   the next link may start
//   this block's weights are on their way (one bulk copy), tables of addresses are made
//   the launch before is over: patches of the images come by cp.async, a residual into registers
//   products: every warp 32 pixels × 32 filters of every warps_k-th step of K
//   sums: over the warps through shared memory, over the cluster through the owner's shared memory
//   bias, residual, activation or a chain, store
// Sums are formed in a fixed order, so that repeats are bit-equal. A NaN or infinity in a pixel
// that lies beside a stem's window, in its last step of K, spreads to its result.
#pragma once

#include "runtime/kernels/cuda/common/cluster.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/conv/small_batch_conv.h"
#include "runtime/kernels/cuda/conv/small_batch_conv_products.cuh"
#include "runtime/kernels/cuda/pointwise/chain_epilogue.cuh"

namespace onnx_cudnn {
namespace small_batch_conv {

using Parameters = SmallBatchConvParameters;

#if __CUDA_ARCH__ >= 900

// Which work a block has.
struct Block {
  int part;  // of K, the rank in the cluster
  int image;
  int tile;     // of pixels
  int filters;  // tile of filters, of all siblings
  int sibling;
  int first_filter;  // of the sibling
};

template <int kFilters>
__device__ __forceinline__ Block BlockOf(const Parameters& p) {
  Block b;
  b.part = blockIdx.x & (p.split - 1);
  int rest = static_cast<int>(blockIdx.x >> p.log_split);
  b.image = rest % p.tiles.images;
  rest /= p.tiles.images;
  b.tile = rest % p.tiles.per_image();
  b.filters = rest / p.tiles.per_image();
  b.sibling = 0;
  for (int i = 1; i < p.siblings; ++i) b.sibling += b.filters >= p.output[i].first_tile ? 1 : 0;
  b.first_filter = (b.filters - p.output[b.sibling].first_tile) * kFilters;
  return b;
}

// Offsets of the input pixels that the patches hold, in pixels of an image, -1: zero; of the output
// pixels; and of the steps of K in a patch, in bytes.
template <int kPixels>
__device__ __forceinline__ void MakeTables(const Parameters& p, const Block& b, int* table) {
  for (int m = threadIdx.x; m < kPixels; m += kChainThreads) {
    const ChainPixel out = ChainOutput(p.tiles, b.tile, m);
    table[m] = out.row < 0 ? -1 : out.row * p.tiles.columns + out.column;
  }
  for (int i = 0; i < p.sources; ++i) {
    const ChainSource& s = p.source[i];
    for (int j = threadIdx.x; j < s.patch_pixels(); j += kChainThreads) {
      const ChainPixel in = ChainInput(s, p.tiles, b.tile, j);
      table[p.image[i].table_at + j] = in.row < 0 ? -1 : in.row * s.width + in.column;
    }
    for (int j = threadIdx.x; j < s.steps; j += kChainThreads) {
      table[p.step_table_at + s.first_step + j] = ChainStepBytes(s, j);
    }
  }
}

// What a stem's last step reads behind its patch, and lanes that it lacks, are zero.
__device__ __forceinline__ void ClearStem(const ChainSource& s, char* patch) {
  if (!s.is_stem) return;
  for (int i = threadIdx.x; i < s.patch_bytes / 16; i += kChainThreads) {
    reinterpret_cast<uint4*>(patch)[i] = make_uint4(0, 0, 0, 0);
  }
}

// Where pixel `pixel` of patch `i` lies in it: ChainPatchBytes.
__device__ __forceinline__ int PatchBytes(const Parameters& p, int i, uint32_t pixel) {
  const ChainSource& s = p.source[i];
  const int row = static_cast<int>(p.image[i].columns.Divide(pixel));
  return row * (s.row_bytes - s.patch_columns() * s.pixel_bytes) +
         static_cast<int>(pixel) * s.pixel_bytes;
}

// The patch of an image as it lies in memory.
template <typename T>
__device__ __forceinline__ void FetchPatch(const Parameters& p, const Block& b, int i,
                                           const int* offsets, uint32_t patch) {
  const ChainSource& s = p.source[i];
  const T* x = static_cast<const T*>(p.image[i].x) +
               static_cast<int64_t>(b.image) * s.height * s.width * s.lanes;
  if (s.is_stem) {
    for (int j = threadIdx.x; j < s.patch_pixels(); j += kChainThreads) {
      const int offset = offsets[j];
      CopyAsync8(patch + PatchBytes(p, i, j), x + static_cast<int64_t>(max(offset, 0)) * s.lanes,
                 offset >= 0);
    }
    return;
  }
  const int first = b.part * s.part_channels;
  const int count = s.patch_pixels() * static_cast<int>(p.image[i].pieces.divisor);
  for (int j = threadIdx.x; j < count; j += kChainThreads) {
    uint32_t pixel = j;
    const int piece = p.image[i].pieces.Split(pixel);
    const int offset = offsets[pixel], channel = first + piece * kChainPiece;
    const bool is_there = offset >= 0 && channel < s.channels;
    const T* from = x + (is_there ? static_cast<int64_t>(offset) * s.lanes + channel : 0);
    CopyAsync16(patch + PatchBytes(p, i, pixel) + piece * 16, from, is_there);
  }
}

// The patch of an image that a chain computes; zero outside of it, as the window's padding is.
template <typename T>
__device__ __forceinline__ void ComputePatch(const Parameters& p, const ChainProgram& program,
                                             const Block& b, int i, const int* offsets,
                                             char* patch) {
  const ChainSource& s = p.source[i];
  const int first = s.is_stem ? 0 : b.part * s.part_channels;
  const int lanes = s.is_stem ? kChainLanes : s.part_channels;  // that are written
  const int fours = lanes / kChainLanes, count = s.patch_pixels() * fours;
#pragma unroll 1
  for (int j = threadIdx.x; j < count; j += kChainThreads) {
    const int pixel = j / fours, lane = j % fours * kChainLanes;
    const int offset = offsets[pixel], channel = first + lane;
    const int valid = offset < 0 ? 0 : min(max(s.channels - channel, 0), kChainLanes);
    uint2 packed = make_uint2(0, 0);
    if (valid > 0) {
      ChainRunner runner(program, ChainValues{});
      runner.Run(p.image[i].prologue, {b.image, channel, 0, offset / s.width, offset % s.width},
                 valid, valid, false, {});
      ChainValues values = runner.result();
#pragma unroll
      for (int e = 0; e < kChainLanes; ++e) {
        if (e >= valid) values.at[e] = 0;
      }
      packed =
          make_uint2(Pack(T{}, values.at[0], values.at[1]), Pack(T{}, values.at[2], values.at[3]));
    }
    *reinterpret_cast<uint2*>(patch + PatchBytes(p, i, pixel) + lane * 2) = packed;
  }
}

// What is known before the launch before is over is done before: addresses above all.
//   program  used when kHasProgram
template <typename T, int kPixels, int kFilters, bool kHasProgram>
__device__ __forceinline__ void Run(const Parameters& p, const ChainProgram* program) {
  using W = Warps<kPixels, kFilters>;
  constexpr int kFours = kFilters / 4;                               // of a pixel
  constexpr int kAll = kPixels * kFours;                             // fours of the tile
  constexpr int kMost = (kAll + kChainThreads - 1) / kChainThreads;  // of a thread
  extern __shared__ __align__(128) char shared[];
  __shared__ __align__(8) uint64_t barriers[2];
  const int thread = threadIdx.x, lane = thread % 32;
  const W warp = WarpsOf<kPixels, kFilters>(thread / 32);
  const Block block = BlockOf<kFilters>(p);
  const uint32_t weights_came = SharedAddress(barriers), sums_came = weights_came + 8;
  const int own = kAll >> p.log_split;  // fours that this block finishes, a power of two
  const int own_bits = 31 - __clz(own);
  char* patch = shared + p.patch_at;
  float4* received = reinterpret_cast<float4*>(shared + p.received_at);
  int* table = reinterpret_cast<int*>(shared + p.table_at);

  LetNextStart(p.next_uses_pdl);
  if (thread == 0) {
    BarrierInit(weights_came, 1);
    BarrierInit(sums_came, 1);
    BarrierInitFence();
    SharedFence();
    BarrierExpect(weights_came, p.slab_bytes);
    const int64_t slab = static_cast<int64_t>(block.filters) * p.split + block.part;
    LoadBytes(SharedAddress(shared), static_cast<const char*>(p.slabs) + slab * p.slab_bytes,
              p.slab_bytes, weights_came);
    if (p.split > 1) BarrierExpect(sums_came, (p.split - 1) * own * 16);
  }
  if (p.split > 1) ClusterArrive();
  MakeTables<kPixels>(p, block, table);
  uint32_t a[kChainSources][2], b[2];
#pragma unroll
  for (int i = 0; i < kChainSources; ++i) {
    if (i >= p.sources) break;
    ClearStem(p.source[i], patch + p.image[i].patch_at);
    const uint32_t base = SharedAddress(patch + p.image[i].patch_at) + LanePixelBytes(lane);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      a[i][j] = base + ChainPixelBytes(p.source[i], p.tiles, LanePixel(warp.m, j, lane));
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    b[i] = SharedAddress(shared) + LaneFilter(warp.n, i, lane) * ChainRowBytes(p.steps) +
           LaneFilterBytes(lane);
  }
  __syncthreads();
  const SmallBatchConvOutput out = p.output[block.sibling];
  const int four = thread % kFours, filter = block.first_filter + four * 4;
  const int64_t image_row = static_cast<int64_t>(block.image) * p.tiles.rows * p.tiles.columns;
  int64_t out_at[kMost];  // elements of the output, -1: none
#pragma unroll
  for (int e = 0; e < kMost; ++e) {
    const int at = thread + e * kChainThreads;
    const int pixel =
        at < own && filter < out.filters ? table[(block.part * own + at) / kFours] : -1;
    out_at[e] = pixel < 0 ? -1 : (image_row + pixel) * out.filters + filter;
  }
  WaitForLaunchBefore();

#pragma unroll
  for (int i = 0; i < kChainSources; ++i) {
    if (i >= p.sources) break;
    const int* offsets = table + p.image[i].table_at;
    char* to = patch + p.image[i].patch_at;
    if constexpr (kHasProgram) {
      if (p.image[i].prologue >= 0) {
        ComputePatch<T>(p, *program, block, i, offsets, to);
        continue;
      }
    }
    FetchPatch<T>(p, block, i, offsets, SharedAddress(to));
  }
  uint2 residual[kMost];
#pragma unroll
  for (int e = 0; e < kMost; ++e) {
    residual[e] = make_uint2(0, 0);
    if (out.residual == nullptr || out_at[e] < 0) continue;
    residual[e] =
        __ldcg(reinterpret_cast<const uint2*>(static_cast<const T*>(out.residual) + out_at[e]));
  }
  if (p.split > 1) ClusterWait();
  CopiesAreDone();
  __syncthreads();
  BarrierWait(weights_came, 0);

  float sums[2][4][4] = {};
  const int* step_table = table + p.step_table_at;
  int step = warp.k;
#pragma unroll
  for (int i = 0; i < kChainSources; ++i) {
    if (i >= p.sources) break;
    const int end = p.source[i].first_step + p.source[i].steps;
#pragma unroll 4
    for (; step < end; step += W::kK) {
      Step<T>(sums, a[i], b, step_table[step], step * (2 * kChainStep));
    }
  }

  __syncthreads();  // the patches are read: partial sums take their place
  using Partial = PartialSums<kPixels, kFilters>;
  float* partial = reinterpret_cast<float*>(patch);
  Partial::Write(partial + Partial::Mine(warp, lane), sums);
  __syncthreads();
  if (p.split > 1) {
#pragma unroll
    for (int first = 0; first < kAll; first += kChainThreads) {
      const int at = first + thread, owner = at >> own_bits;
      if (at >= kAll || owner == block.part) continue;
      const uint32_t to = SharedAddress(received + block.part * own + (at & (own - 1)));
      Send(AddressIn(to, owner), AddressIn(sums_came, owner),
           Partial::Sum(partial + Partial::Four(at / kFours, four)));
    }
  }
  const float4 bias =
      *reinterpret_cast<const float4*>(shared + kFilters * ChainRowBytes(p.steps) + four * 16);
  if (p.split > 1) ClusterBarrierWait(sums_came, 0);
#pragma unroll
  for (int e = 0; e < kMost; ++e) {
    const int at = thread + e * kChainThreads;
    if (at >= own) break;
    const int m = (block.part * own + at) / kFours;
    float4 sum = Partial::Sum(partial + Partial::Four(m, four));
    for (int part = 0; part < p.split; ++part) {
      if (part != block.part) Add(sum, received[part * own + at]);
    }
    Add(sum, bias);
    if (kHasProgram && out.epilogue >= 0) {
      *reinterpret_cast<float4*>(partial + Partial::Four(m, four)) = sum;  // nobody else reads it
    } else if (out_at[e] >= 0) {
      if (out.residual != nullptr) Add(sum, Unpacked<T>(residual[e]));
      if (kHasProgram) sum = Activated<T>(out.activation, sum);
      *reinterpret_cast<uint2*>(static_cast<T*>(out.y) + out_at[e]) =
          Packed<T>(sum, out.activation);
    }
  }
  if constexpr (kHasProgram) {
    if (out.epilogue < 0 || filter >= out.filters) return;
      // The chain's code stands once.
#pragma unroll 1
    for (int at = thread; at < own; at += kChainThreads) {
      const int m = (block.part * own + at) / kFours, pixel = table[m];
      if (pixel < 0) continue;
      const float4 sum = *reinterpret_cast<float4*>(partial + Partial::Four(m, four));
      ChainRunner(*program, {{sum.x, sum.y, sum.z, sum.w}})
          .Run(out.epilogue,
               {block.image, filter, 0, pixel / p.tiles.columns, pixel % p.tiles.columns},
               kChainLanes, kChainLanes, false, {});
    }
  }
}

#endif  // __CUDA_ARCH__ >= 900

template <typename T, int kPixels, int kFilters>
__global__ void __launch_bounds__(kChainThreads, 2)
    SmallBatchConv(const __grid_constant__ Parameters p) {
#if __CUDA_ARCH__ >= 900
  Run<T, kPixels, kFilters, false>(p, nullptr);
#endif
}

template <typename T, int kPixels, int kFilters>
__global__ void __launch_bounds__(kChainThreads, 2)
    SmallBatchConvWithProgram(const __grid_constant__ SmallBatchConvWithProgramParameters p) {
#if __CUDA_ARCH__ >= 900
  Run<T, kPixels, kFilters, true>(p.link, &p.program);
#endif
}

template <typename T, int kPixels, int kFilters>
KernelCall CallOfTile(const LaunchShape& shape, const Parameters& p, const ChainProgram* program) {
  if (program == nullptr) return KernelCall::Of(SmallBatchConv<T, kPixels, kFilters>, shape, p);
  return KernelCall::Of(SmallBatchConvWithProgram<T, kPixels, kFilters>, shape,
                        SmallBatchConvWithProgramParameters{p, *program});
}

template <typename T>
KernelCall CallOf(int pixels, int filters, const LaunchShape& shape, const Parameters& p,
                  const ChainProgram* program) {
  if (pixels == 32 && filters == 32) return CallOfTile<T, 32, 32>(shape, p, program);
  if (pixels == 32) return CallOfTile<T, 32, 64>(shape, p, program);
  if (filters == 32) return CallOfTile<T, 64, 32>(shape, p, program);
  return CallOfTile<T, 64, 64>(shape, p, program);
}

}  // namespace small_batch_conv
}  // namespace onnx_cudnn
