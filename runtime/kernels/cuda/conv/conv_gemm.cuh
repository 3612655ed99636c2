// Shared by conv_gemm.cu and conv_gemm_wide.cu: ring buffers in shared memory, the producer of
// slices, and the roles of warps.
//
// Four roles, each with its own warps. For each tile:
//   slices     one thread loads pixels by TMA and weights by a bulk copy into a ring
//   residuals  one thread loads the residual, piece by piece, into the ring of results
//   products   two warpgroups multiply slice by slice, then add, round and write piece by piece
//              over the residual
//   results    one thread per ring stores pieces
// Rings continue from tile to tile, so that loads and stores of one tile overlap with products of
// another. Their barriers:
//   full      the pixels (and weights) of a slice have arrived; signalled by TMA
//   empty     no product reads the slice any more; signalled by each warp that did
//   residual  the residual of a piece has arrived; signalled by TMA
//   done      the result of the piece is written; signalled by each warp that wrote
//   stored    TMA has read the result
// Each wait is for something earlier in the same fixed order of slices and pieces, so there is no
// deadlock; the next phase of a barrier requires that all its waiters have passed this one.
#pragma once

#include <type_traits>

#include "runtime/kernels/cuda/common/copy_engine.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/wgmma.cuh"
#include "runtime/kernels/cuda/conv/conv_gemm.h"

namespace onnx_cudnn::conv_gemm {

constexpr int kThreads = 384;  // two warpgroups that multiply, four warps that copy
// Room for alignment to the swizzle pattern.
constexpr int kSharedBytes = kConvGemmSharedBytes + 1024;
constexpr int kRowBytes = kConvGemmRowBytes;

inline LaunchShape ShapeOf(int blocks) {
  return {
      .grid = {static_cast<unsigned>(blocks)}, .block = {kThreads}, .shared_bytes = kSharedBytes};
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kMost = kConvGemmMostBuffers;
constexpr int kBarriers = 5 * kMost;
constexpr int kStepBytes = 32;  // along K, per wgmma

// Elements per row of a slice of K, and of a piece.
template <typename T>
constexpr int kChannels = kRowBytes / static_cast<int>(sizeof(T));

// Shared memory addresses: the first barrier of each kind (one per buffer), and the buffers.
struct Rings {
  uint32_t full, empty, residual, done, stored;
  uint32_t slices, weights, pieces;

  // `buffers`: the first of kSharedBytes; `slice_bytes`, `weight_bytes`: pixels and weights of one
  // slice.
  __device__ Rings(const ConvGemmParameters& p, uint32_t barriers, uint32_t buffers,
                   int slice_bytes, int weight_bytes)
      : full(barriers),
        empty(full + 8 * kMost),
        residual(empty + 8 * kMost),
        done(residual + 8 * kMost),
        stored(done + 8 * kMost),
        slices((buffers + 1023) & ~1023u),
        weights(slices + p.stages * slice_bytes),
        pieces(weights + (p.keeps_weights ? p.slices : p.stages) * weight_bytes) {}

  // `readers`: warps of a block that read a slice; `writers`: warps that write a piece.
  __device__ void InitBarriers(int readers, int writers) const {
    for (int i = 0; i < kMost; ++i) {
      BarrierInit(full + 8 * i, 1);
      BarrierInit(empty + 8 * i, readers);
      BarrierInit(residual + 8 * i, 1);
      BarrierInit(done + 8 * i, writers);
      BarrierInit(stored + 8 * i, 1);
    }
    BarrierInitFence();
  }

  // Waits until a warp may write a piece and its residual has arrived. `ring`: 8 × its buffer.
  template <bool kResidual>
  __device__ __forceinline__ void AwaitPiece(int ring, uint32_t parity) const {
    if (kResidual) {
      BarrierWait(residual + ring, parity);
    } else {
      BarrierWait(stored + ring, parity ^ 1);
    }
  }
  // Signals that the warp has written its part of the piece.
  __device__ __forceinline__ void HandOverPiece(int ring, int lane) const {
    SharedFence();
    __syncwarp();
    if (lane == 0) BarrierArrive(done + ring);
  }
};

// The tiles of a block.
struct BlockTiles {
  int first, step;
  __device__ BlockTiles()
      : first(static_cast<int>(blockIdx.x)), step(static_cast<int>(gridDim.x)) {}
};

struct Tile {
  int pixels, filters;  // index of the tile along each
  __device__ Tile(const ConvGemmParameters& p, int tile)
      : pixels(tile / p.filter_tiles), filters(tile - pixels * p.filter_tiles) {}
};

// Window position of the first pixel of a tile.
struct Place {
  int column, row, image;
  __device__ Place(const ConvGemmParameters& p, const ConvGemmSource& source, int pixel) {
    const int line = pixel / p.columns;
    image = line / p.rows;
    column = (pixel - line * p.columns) * source.stride_w - source.pad_w;
    row = (line - image * p.rows) * source.stride_h - source.pad_h;
  }
};

// Loads one tap for consecutive window positions from `column, row, image` on, channels from
// `channel` on.
__device__ __forceinline__ void LoadIm2col(uint32_t to, const TensorMapBytes& map, uint32_t barrier,
                                           int channel, const Place& place, int tap_column,
                                           int tap_row) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(channel), "r"(place.column), "r"(place.row), "r"(place.image),
      "h"(static_cast<uint16_t>(tap_column)), "h"(static_cast<uint16_t>(tap_row))
      : "memory");
}

// Runs in one thread.
template <typename T, int kPixels, int kFilters>
__device__ __forceinline__ void BringSlices(const ConvGemmParameters& p, const Rings& rings) {
  constexpr int kWeightBytes = kFilters * kRowBytes;
  const BlockTiles own;
  PipelineState state;
  for (int t = own.first; t < p.tiles; t += own.step) {
    const Tile tile(p, t);
    const bool brings_weights = !p.keeps_weights || t == own.first;
    const char* weights =
        static_cast<const char*>(p.weights) + int64_t{tile.filters} * p.slices * kWeightBytes;
    int k = 0;
    const auto bring = [&](const ConvGemmSource& source, const Place& place, int channel,
                           int tap_column, int tap_row) {
      const uint32_t full = rings.full + 8 * state.buffer;
      BarrierWait(rings.empty + 8 * state.buffer, state.parity ^ 1);
      BarrierExpect(full, p.tile_pixels * kRowBytes + (brings_weights ? kWeightBytes : 0));
      const uint32_t to = rings.slices + state.buffer * kPixels * kRowBytes;
      if (source.uses_im2col) {
        LoadIm2col(to, source.map, full, channel, place, tap_column, tap_row);
      } else {
        LoadBox(to, source.map, full, channel, tile.pixels * source.columns,
                tile.pixels * source.rows);
      }
      if (brings_weights) {
        LoadBytes(rings.weights + (p.keeps_weights ? k : state.buffer) * kWeightBytes, weights,
                  kWeightBytes, full);
      }
      weights += kWeightBytes;
      ++k;
      state.Next(p.stages);
    };
    for (int i = 0; i < p.sources; ++i) {
      const ConvGemmSource& source = p.source[i];
      const Place place(p, source, tile.pixels * p.tile_pixels);
      for (int row = 0; row < source.kernel_h; ++row) {
        for (int column = 0; column < source.kernel_w; ++column) {
          for (int channel = 0; channel < source.channels; channel += kChannels<T>) {
            bring(source, place, channel, column, row);
          }
        }
      }
    }
  }
}

// Runs the roles of a block after its barriers are initialized. Registers of the copying warps are
// given to the multiplying ones.
//   readers, writers  as in InitBarriers
//   move(warp)        called by one thread of each of the four copying warps
//   multiply(group)   called by a warpgroup; its number is a std::integral_constant
template <typename Move, typename Multiply>
__device__ __forceinline__ void RunJobs(const ConvGemmParameters& p, const Rings& rings,
                                        int readers, int writers, const Move& move,
                                        const Multiply& multiply) {
  const int thread = static_cast<int>(threadIdx.x);
  LetNextStart(p.next_uses_pdl);
  if (thread == 0) rings.InitBarriers(readers, writers);
  __syncthreads();
  if (thread >= 256) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if ((thread & 31) == 0) {
      WaitForLaunchBefore();
      move((thread - 256) >> 5);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    if (thread < 128) {
      multiply(std::integral_constant<int, 0>());
    } else {
      multiply(std::integral_constant<int, 1>());
    }
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace onnx_cudnn::conv_gemm
