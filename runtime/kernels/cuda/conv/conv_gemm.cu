// Tiles of 128 pixels on M of wgmma (64 per warpgroup) and filters on N; both operands are in
// shared memory. K is divided into slices of 128 bytes: 64 channels, or 32 of f32, which are
// multiplied in TF32. A piece of the result is all pixels of a tile × 128 bytes.
#include "runtime/kernels/cuda/conv/conv_gemm.cuh"

namespace onnx_cudnn {

using namespace conv_gemm;  // NOLINT(google-build-using-namespace): its other half

namespace {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kPixels = 128;
constexpr int kWarps = 8;         // that multiply
constexpr int kGroupPixels = 64;  // per warpgroup
constexpr int kBoxBytes = kPixels * kRowBytes;

// Runs in one warpgroup. Its number is a template argument, so that descriptors stay in uniform
// registers.
template <typename T, int kFilters, bool kResidual, int kGroup>
class Multiplier {
  static constexpr int kPiece = kChannels<T>;
  static constexpr bool kIsHalf = sizeof(T) == 2;

 public:
  __device__ Multiplier(const ConvGemmParameters& p, const Rings& rings)
      : p_(p), rings_(rings), warp_((threadIdx.x & 127) >> 5), lane_(threadIdx.x & 31) {}

  __device__ __forceinline__ void Run() {
    const BlockTiles own;
    for (int t = own.first; t < p_.tiles; t += own.step) {
      float sums[kFilters / 2];
      // The products of one slice stay in flight while those of the next one are issued.
      int before = 0;
      for (int k = 0; k < p_.slices; ++k) {
        BarrierWait(rings_.full + 8 * slice_.buffer, slice_.parity);
        Multiply(sums, k);
        WgmmaWait<1>(sums);
        if (k > 0 && lane_ == 0) BarrierArrive(rings_.empty + 8 * before);
        before = slice_.buffer;
        slice_.Next(p_.stages);
      }
      WgmmaWait<0>(sums);
      if (lane_ == 0) BarrierArrive(rings_.empty + 8 * before);
      Finish(sums, p_.bias + Tile(p_, t).filters * kFilters);
    }
  }

 private:
  // Multiplies slice k of a tile.
  __device__ __forceinline__ void Multiply(float (&sums)[kFilters / 2], int k) const {
    const uint32_t pixels =
        rings_.slices + slice_.buffer * kBoxBytes + kGroup * kGroupPixels * kRowBytes;
    const uint32_t weights =
        rings_.weights + (p_.keeps_weights ? k : slice_.buffer) * kFilters * kRowBytes;
    Pin(sums);
    WgmmaFence();
#pragma unroll
    for (int at = 0; at < kRowBytes; at += kStepBytes) {
      Wgmma(T(), sums, SwizzledOperand(pixels + at), SwizzledOperand(weights + at),
            at > 0 || k > 0);
    }
    WgmmaCommit();
  }

  // Applies bias, residual and ReLU, piece by piece.
  __device__ __forceinline__ void Finish(const float (&sums)[kFilters / 2], const float* bias) {
#pragma unroll
    for (int piece = 0; piece < kFilters / kPiece; ++piece) {
      float2 biases[kPiece / 8];
#pragma unroll
      for (int j = 0; j < kPiece / 8; ++j) {
        const int filter = piece * kPiece + EightOf(j) * 8 + (lane_ & 3) * 2;
        biases[j] = *reinterpret_cast<const float2*>(bias + filter);
      }
      rings_.AwaitPiece<kResidual>(8 * piece_.buffer, piece_.parity);
      const uint32_t to = rings_.pieces + piece_.buffer * kBoxBytes +
                          (kGroup * kGroupPixels + warp_ * 16) * kRowBytes;
      float mine[kPiece / 2];
#pragma unroll
      for (int i = 0; i < kPiece / 2; ++i) mine[i] = sums[piece * kPiece / 2 + i];
      if constexpr (kIsHalf) {
        WriteHalves(mine, biases, to);
      } else {
        WriteFloats(mine, biases, to);
      }
      rings_.HandOverPiece(8 * piece_.buffer, lane_);
      piece_.Next(p_.pieces);
    }
  }

  // The order of a piece's groups of eight filters. For f32 it differs between odd and even rows,
  // so that rows written at once are in different banks.
  __device__ __forceinline__ int EightOf(int j) const { return kIsHalf ? j : j ^ (lane_ >> 1 & 2); }

  // `to`: the warp's sixteen pixels in the piece.
  __device__ __forceinline__ void WriteHalves(const float (&sums)[kPiece / 2],
                                              const float2 (&biases)[kPiece / 8],
                                              uint32_t to) const {
    // Address of the lane's row of four 8 × 8 matrices: two of pixels × two of filters.
    const int row = lane_ & 7, matrix = lane_ >> 3;
    const uint32_t first = to + ((matrix & 1) * 8 + row) * kRowBytes + (((matrix >> 1) ^ row) << 4);
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
        float low = sums[4 * j + 2 * q] + biases[j + q / 2].x;
        float high = sums[4 * j + 2 * q + 1] + biases[j + q / 2].y;
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
  }

  // The same for f32: each lane writes at the positions of its own sums.
  __device__ __forceinline__ void WriteFloats(const float (&sums)[kPiece / 2],
                                              const float2 (&biases)[kPiece / 8],
                                              uint32_t to) const {
    const int row = lane_ >> 2, unit = (lane_ & 3) >> 1;
    const uint32_t first =
        (to + row * kRowBytes + ((unit ^ row) << 4) + (lane_ & 1) * 8) ^ EightOf(0) << 5;
    const bool is_odd = EightOf(0) != 0;
#pragma unroll
    for (int j = 0; j < kPiece / 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint32_t at = (first ^ j << 5) + half * 8 * kRowBytes;
        const int even = 4 * j + 2 * half, odd = 4 * (j ^ 2) + 2 * half;
        float low = (is_odd ? sums[odd] : sums[even]) + biases[j].x;
        float high = (is_odd ? sums[odd + 1] : sums[even + 1]) + biases[j].y;
        if (kResidual) {
          float2 add;
          asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                       : "=f"(add.x), "=f"(add.y)
                       : "r"(at)
                       : "memory");
          low += add.x;
          high += add.y;
        }
        if (p_.has_relu) {  // NaN is kept
          low = low < 0 ? 0 : low;
          high = high < 0 ? 0 : high;
        }
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(low), "f"(high) : "memory");
      }
    }
  }

  const ConvGemmParameters& p_;
  const Rings& rings_;
  const int warp_, lane_;
  PipelineState slice_, piece_;
};

template <typename T, int kFilters>
__device__ __forceinline__ void BringResiduals(const ConvGemmParameters& p, const Rings& rings) {
  const BlockTiles own;
  PipelineState state;
  for (int t = own.first; t < p.tiles; t += own.step) {
    const Tile tile(p, t);
    for (int filter = 0; filter < kFilters; filter += kChannels<T>) {
      const uint32_t full = rings.residual + 8 * state.buffer;
      BarrierWait(rings.stored + 8 * state.buffer, state.parity ^ 1);
      BarrierExpect(full, p.tile_pixels * kRowBytes);
      LoadBox(rings.pieces + state.buffer * kBoxBytes, p.residual, full,
              tile.filters * kFilters + filter, tile.pixels * p.tile_pixels, 0);
      state.Next(p.pieces);
    }
  }
}

template <typename T, int kFilters>
__device__ __forceinline__ void StoreResults(const ConvGemmParameters& p, const Rings& rings) {
  const BlockTiles own;
  PipelineState state;
  for (int t = own.first; t < p.tiles; t += own.step) {
    const Tile tile(p, t);
    for (int filter = 0; filter < kFilters; filter += kChannels<T>) {
      BarrierWait(rings.done + 8 * state.buffer, state.parity);
      StoreBox(p.result, rings.pieces + state.buffer * kBoxBytes, tile.filters * kFilters + filter,
               tile.pixels * p.tile_pixels);
      StoresHaveRead();
      BarrierArrive(rings.stored + 8 * state.buffer);
      state.Next(p.pieces);
    }
  }
  StoresAreDone();
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <typename T, int kFilters, bool kResidual>
__global__ void __launch_bounds__(kThreads, 1)
    ConvGemm([[maybe_unused]] const __grid_constant__ ConvGemmParameters p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char dynamic[];
  __shared__ __align__(8) uint64_t barrier_words[kBarriers];
  const Rings rings(p, SharedAddress(barrier_words), SharedAddress(dynamic), kBoxBytes,
                    kFilters * kRowBytes);
  RunJobs(
      p, rings, /*readers=*/kWarps, /*writers=*/kWarps,
      [&](int warp) {
        if (warp == 0) BringSlices<T, kPixels, kFilters>(p, rings);
        if (warp == 1) StoreResults<T, kFilters>(p, rings);
        if (kResidual && warp == 2) BringResiduals<T, kFilters>(p, rings);
      },
      [&](auto group) {
        Multiplier<T, kFilters, kResidual, decltype(group)::value>(p, rings).Run();
      });
#endif
}

template <typename T, int kFilters>
KernelCall Call(const ConvGemmForm& form, const ConvGemmParameters& parameters, int blocks) {
  const LaunchShape shape = ShapeOf(blocks);
  return form.has_residual ? KernelCall::Of(ConvGemm<T, kFilters, true>, shape, parameters)
                           : KernelCall::Of(ConvGemm<T, kFilters, false>, shape, parameters);
}

template <typename T>
KernelCall Call(const ConvGemmForm& form, const ConvGemmParameters& parameters, int blocks) {
  if (form.filters == 64) return Call<T, 64>(form, parameters, blocks);
  if (form.filters == 128) return Call<T, 128>(form, parameters, blocks);
  return Call<T, 256>(form, parameters, blocks);
}

}  // namespace

KernelCall ConvGemmCall(const ConvGemmForm& form, const ConvGemmParameters& parameters,
                        int blocks) {
  if (form.ping_pong || form.pixels > 128) return ConvGemmWideCall(form, parameters, blocks);
  if (form.dtype == DType::kF32) return Call<float>(form, parameters, blocks);
  return form.dtype == DType::kF16 ? Call<__half>(form, parameters, blocks)
                                   : Call<__nv_bfloat16>(form, parameters, blocks);
}

}  // namespace onnx_cudnn
