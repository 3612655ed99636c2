// Pixels stand on M of wgmma (64 a warpgroup), filters on N, both from shared memory. A tile is 128
// pixels × all filters of it; K comes in slices of 64 channels.
//
// Four jobs, each with its own warps. In the order of a tile:
//   slices     one thread brings pixels by the copy engine and weights by a bulk copy into a ring
//   residuals  one thread brings the residual, in pieces of 64 filters, into the ring of results
//   products   two warpgroups multiply slice by slice, then add, round and write piece by piece
//              over the residual
//   results    one thread stores pieces
// Rings run on from tile to tile, so that one tile's loads and stores overlap with another's
// products. Their barriers:
//   full      pixels (and weights) of a slice are there: by the copy engine
//   empty     no product reads it any more: by each of eight warps
//   residual  a piece's residual is there: by the copy engine
//   done      its result is written: by each of eight warps
//   stored    the copy engine has read it
// Waits are for what stands earlier in the same fixed order of slices and pieces, so none is for
// ever; each barrier's next phase needs all its waiters to have passed this one.
#include "runtime/kernels/cuda/conv_1x1.h"
#include "runtime/kernels/cuda/copy_engine.cuh"
#include "runtime/kernels/cuda/wgmma.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 384;  // two warpgroups that multiply, four warps that move
constexpr int kSharedBytes = kConv1x1SharedBytes + 1024;  // the swizzle's pattern starts there

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kWarps = 8;  // that multiply
constexpr int kRowBytes = kConv1x1RowBytes;
constexpr int kBoxBytes = kConv1x1BoxBytes;
constexpr int kMost = kConv1x1MostBuffers;
constexpr int kBarriers = 5 * kMost;
constexpr int kGroupPixels = 64;  // of a warpgroup
constexpr int kStep = 16;         // of K, of one wgmma

// A ring's next buffer, and the parity of its phase.
struct Turn {
  int buffer = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void Next(int buffers) {
    if (++buffer < buffers) return;
    buffer = 0;
    parity ^= 1;
  }
};

// Addresses in shared memory: the first barrier of each kind, one a buffer, and the buffers.
struct Shared {
  uint32_t full, empty, residual, done, stored;
  uint32_t slices, pieces, weights;

  __device__ Shared(const Conv1x1Parameters& p, uint32_t barriers, uint32_t buffers)
      : full(barriers),
        empty(full + 8 * kMost),
        residual(empty + 8 * kMost),
        done(residual + 8 * kMost),
        stored(done + 8 * kMost),
        slices(buffers),
        pieces(slices + p.stages * kBoxBytes),
        weights(pieces + p.pieces * kBoxBytes) {}

  __device__ void InitBarriers() const {
    for (int i = 0; i < kMost; ++i) {
      BarrierInit(full + 8 * i, 1);
      BarrierInit(empty + 8 * i, kWarps);
      BarrierInit(residual + 8 * i, 1);
      BarrierInit(done + 8 * i, kWarps);
      BarrierInit(stored + 8 * i, 1);
    }
    BarrierInitFence();
  }
};

struct Tile {
  int pixels, filters;  // which tile of each
  __device__ Tile(const Conv1x1Parameters& p, int tile)
      : pixels(tile / p.filter_tiles), filters(tile - pixels * p.filter_tiles) {}
};

// One warpgroup. Its number is a template argument, so that descriptors stay in uniform registers.
template <typename T, int kFilters, bool kResidual, int kGroup>
class Multiplier {
 public:
  __device__ Multiplier(const Conv1x1Parameters& p, const Shared& shared)
      : p_(p), shared_(shared), warp_((threadIdx.x & 127) >> 5), lane_(threadIdx.x & 31) {}

  __device__ __forceinline__ void Run() {
    for (int t = blockIdx.x; t < p_.tiles; t += gridDim.x) {
      float sums[kFilters / 2];
      // One slice's products stay in flight while the next one's are issued.
      int before = 0;
      for (int k = 0; k < p_.slices; ++k) {
        BarrierWait(shared_.full + 8 * slice_.buffer, slice_.parity);
        Multiply(sums, k);
        WgmmaWait<1>(sums);
        if (k > 0 && lane_ == 0) BarrierArrive(shared_.empty + 8 * before);
        before = slice_.buffer;
        slice_.Next(p_.stages);
      }
      WgmmaWait<0>(sums);
      if (lane_ == 0) BarrierArrive(shared_.empty + 8 * before);
      Finish(sums, p_.bias + Tile(p_, t).filters * kFilters);
    }
  }

 private:
  // Slice k of a tile's.
  __device__ __forceinline__ void Multiply(float (&sums)[kFilters / 2], int k) const {
    const uint32_t pixels =
        shared_.slices + slice_.buffer * kBoxBytes + kGroup * kGroupPixels * kRowBytes;
    const uint32_t weights =
        shared_.weights + (p_.keeps_weights ? k : slice_.buffer) * kFilters * kRowBytes;
    Pin(sums);
    WgmmaFence();
#pragma unroll
    for (int step = 0; step < kConv1x1Channels / kStep; ++step) {
      Wgmma(T(), sums, SwizzledOperand(pixels + step * 2 * kStep),
            SwizzledOperand(weights + step * 2 * kStep), step > 0 || k > 0);
    }
    WgmmaCommit();
  }

  // Bias, residual and ReLU, piece by piece.
  __device__ __forceinline__ void Finish(const float (&sums)[kFilters / 2], const float* bias) {
    constexpr int kPiece = kConv1x1Channels;
    // Where the lane's row of four 8 × 8 matrices lies in a piece: two of pixels × two of filters.
    const int row = lane_ & 7, matrix = lane_ >> 3;
    const int pixel = kGroup * kGroupPixels + warp_ * 16 + (matrix & 1) * 8 + row;
    const uint32_t mine = pixel * kRowBytes + (((matrix >> 1) ^ row) << 4);
#pragma unroll
    for (int piece = 0; piece < kFilters / kPiece; ++piece) {
      float2 biases[kPiece / 8];
#pragma unroll
      for (int j = 0; j < kPiece / 8; ++j) {
        const int filter = piece * kPiece + j * 8 + (lane_ & 3) * 2;
        biases[j] = *reinterpret_cast<const float2*>(bias + filter);
      }
      if (kResidual) {
        BarrierWait(shared_.residual + 8 * piece_.buffer, piece_.parity);
      } else {
        BarrierWait(shared_.stored + 8 * piece_.buffer, piece_.parity ^ 1);
      }
      const uint32_t first = shared_.pieces + piece_.buffer * kBoxBytes + mine;
#pragma unroll
      for (int j = 0; j < kPiece / 8; j += 2) {
        const uint32_t at = first ^ j << 4;
        uint32_t residual[4] = {}, result[4];
        if (kResidual) {
          asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                       : "=r"(residual[0]), "=r"(residual[1]), "=r"(residual[2]), "=r"(residual[3])
                       : "r"(at)
                       : "memory");
        }
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int i = (piece * kPiece / 8 + j) * 4 + 2 * q;
          float low = sums[i] + biases[j + q / 2].x, high = sums[i + 1] + biases[j + q / 2].y;
          if (kResidual) {
            const float2 add = Unpack(T(), residual[q]);
            low += add.x;
            high += add.y;
          }
          result[q] = p_.has_relu ? PackRelu(T(), low, high) : Pack(T(), low, high);
        }
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                     "r"(result[0]), "r"(result[1]), "r"(result[2]), "r"(result[3])
                     : "memory");
      }
      SharedFence();
      __syncwarp();
      if (lane_ == 0) BarrierArrive(shared_.done + 8 * piece_.buffer);
      piece_.Next(p_.pieces);
    }
  }

  const Conv1x1Parameters& p_;
  const Shared& shared_;
  const int warp_, lane_;
  Turn slice_, piece_;
};

template <int kFilters>
__device__ __forceinline__ void BringSlices(const Conv1x1Parameters& p, const Shared& shared) {
  constexpr int kWeightBytes = kFilters * kRowBytes;
  Turn turn;
  for (int t = blockIdx.x; t < p.tiles; t += gridDim.x) {
    const Tile tile(p, t);
    const bool brings_weights = !p.keeps_weights || t == blockIdx.x;
    const char* weights =
        static_cast<const char*>(p.weights) + int64_t{tile.filters} * p.slices * kWeightBytes;
    for (int k = 0; k < p.slices; ++k) {
      const bool is_first = k < p.first_slices;
      const Conv1x1Image& image = p.image[is_first ? 0 : 1];
      const int channel = (is_first ? k : k - p.first_slices) * kConv1x1Channels;
      const uint32_t full = shared.full + 8 * turn.buffer;
      BarrierWait(shared.empty + 8 * turn.buffer, turn.parity ^ 1);
      BarrierExpect(full, p.tile_pixels * kRowBytes + (brings_weights ? kWeightBytes : 0));
      LoadBox(shared.slices + turn.buffer * kBoxBytes, image.map, full, channel,
              tile.pixels * image.columns, tile.pixels * image.rows);
      if (brings_weights) {
        const int buffer = p.keeps_weights ? k : turn.buffer;
        LoadBytes(shared.weights + buffer * kWeightBytes, weights + k * kWeightBytes, kWeightBytes,
                  full);
      }
      turn.Next(p.stages);
    }
  }
}

template <int kFilters>
__device__ __forceinline__ void BringResiduals(const Conv1x1Parameters& p, const Shared& shared) {
  Turn turn;
  for (int t = blockIdx.x; t < p.tiles; t += gridDim.x) {
    const Tile tile(p, t);
    for (int filter = 0; filter < kFilters; filter += kConv1x1Channels) {
      const uint32_t full = shared.residual + 8 * turn.buffer;
      BarrierWait(shared.stored + 8 * turn.buffer, turn.parity ^ 1);
      BarrierExpect(full, p.tile_pixels * kRowBytes);
      LoadBox(shared.pieces + turn.buffer * kBoxBytes, p.residual, full,
              tile.filters * kFilters + filter, tile.pixels * p.tile_pixels, 0);
      turn.Next(p.pieces);
    }
  }
}

template <int kFilters>
__device__ __forceinline__ void StoreResults(const Conv1x1Parameters& p, const Shared& shared) {
  Turn turn;
  for (int t = blockIdx.x; t < p.tiles; t += gridDim.x) {
    const Tile tile(p, t);
    for (int filter = 0; filter < kFilters; filter += kConv1x1Channels) {
      BarrierWait(shared.done + 8 * turn.buffer, turn.parity);
      StoreBox(p.result, shared.pieces + turn.buffer * kBoxBytes, tile.filters * kFilters + filter,
               tile.pixels * p.tile_pixels);
      StoresHaveRead();
      BarrierArrive(shared.stored + 8 * turn.buffer);
      turn.Next(p.pieces);
    }
  }
  StoresAreDone();
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <typename T, int kFilters, bool kResidual>
__global__ void __launch_bounds__(kThreads, 1)
    Conv1x1([[maybe_unused]] const __grid_constant__ Conv1x1Parameters p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char dynamic[];
  __shared__ __align__(8) uint64_t barrier_words[kBarriers];
  const uint32_t buffers = (SharedAddress(dynamic) + 1023) & ~1023u;
  const Shared shared(p, SharedAddress(barrier_words), buffers);
  const int thread = static_cast<int>(threadIdx.x);
  LaunchDependents();
  if (thread == 0) shared.InitBarriers();
  __syncthreads();
  if (thread >= 256) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if ((thread & 31) != 0) return;
    WaitForLaunchBefore();
    if (thread == 256) BringSlices<kFilters>(p, shared);
    if (thread == 288) StoreResults<kFilters>(p, shared);
    if (kResidual && thread == 320) BringResiduals<kFilters>(p, shared);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  if (thread < 128) {
    Multiplier<T, kFilters, kResidual, 0>(p, shared).Run();
  } else {
    Multiplier<T, kFilters, kResidual, 1>(p, shared).Run();
  }
#endif
}

template <typename T, int kFilters>
KernelCall Call(const Conv1x1Form& form, const Conv1x1Parameters& parameters, int blocks) {
  LaunchShape shape{.block = {kThreads}, .shared_bytes = kSharedBytes, .overlaps = true};
  shape.grid.x = blocks;
  return form.has_residual ? KernelCall::Of(Conv1x1<T, kFilters, true>, shape, parameters)
                           : KernelCall::Of(Conv1x1<T, kFilters, false>, shape, parameters);
}

template <typename T>
KernelCall Call(const Conv1x1Form& form, const Conv1x1Parameters& parameters, int blocks) {
  if (form.filters == 64) return Call<T, 64>(form, parameters, blocks);
  if (form.filters == 128) return Call<T, 128>(form, parameters, blocks);
  return Call<T, 256>(form, parameters, blocks);
}

}  // namespace

KernelCall Conv1x1Call(const Conv1x1Form& form, const Conv1x1Parameters& parameters, int blocks) {
  return form.dtype == DType::kF16 ? Call<__half>(form, parameters, blocks)
                                   : Call<__nv_bfloat16>(form, parameters, blocks);
}

}  // namespace onnx_cudnn
