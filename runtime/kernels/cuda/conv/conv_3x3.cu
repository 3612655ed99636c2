// Channels are on M of wgmma (64), pixels on N; all weights are the register operand (36 steps, 144
// registers). Timings and design decisions: docs/measurements.md, 'Convolutions by wgmma'.
//
// A tile is seven rows of the result. TMA loads nine image rows of 57 pixels (x = −1 … 55, zero
// outside) in one box of 128-byte pixels (128-byte swizzle), so that the pixels form one linear
// sequence with a zero between rows, and tap (r, s) is the same sequence shifted by 57 r + s
// pixels. One column in 57 is computed needlessly; the output box cuts it off.
//
// Two warpgroups alternate at the tensor cores (ping-pong), with two sub-tiles per tile; one adds,
// rounds and stores while the other multiplies. Results overwrite the image rows of the tile once
// no product reads them any more; with a residual they overwrite the residual.
#include "runtime/kernels/cuda/common/copy_engine.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/wgmma.cuh"
#include "runtime/kernels/cuda/conv/conv_3x3.h"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 384;  // two warpgroups that multiply, four warps that copy
constexpr int kPixelBytes = 128;
constexpr int kPitch = kConv3x3Pitch;
constexpr int kImageBytes = kPitch * (kConv3x3Rows + 2) * kPixelBytes;
// Zeros after the tile: the right border of the last row.
constexpr int kTailBytes = 7 * kPixelBytes;
constexpr int kImageBuffer = kImageBytes + kTailBytes;
constexpr int kResidualBuffer = 29 * 1024;  // 232 pixels
constexpr int kImages = 2, kResiduals = 3;  // number of buffers
static_assert(kImageBuffer % 1024 == 0, "the swizzle's pattern starts at 1,024 bytes");

template <bool kResidual>
constexpr int kSharedBytes = kImages* kImageBuffer +
                             (kResidual ? kResiduals * kResidualBuffer : 0) + 1024;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kBarriers = 3 * kImages + 3 * kResiduals;
constexpr int kSecondHalf = kConv3x3FirstHalfRows * kPitch;  // first pixel of the second half
constexpr int kEarly = 4;  // steps before its end at which a product lets the other warpgroup begin

// Addresses of the first barrier of each kind, one barrier per buffer.
struct Barriers {
  uint32_t full, empty;  // of images
  uint32_t done;         // of results; of residual buffers if there is a residual
  uint32_t residual_full, residual_empty;

  __device__ explicit Barriers(uint32_t first)
      : full(first),
        empty(full + 8 * kImages),
        done(empty + 8 * kImages),
        residual_full(done + 8 * (kImages + kResiduals)),
        residual_empty(residual_full + 8 * kResiduals) {}

  // Eight warps multiply.
  template <bool kResidual>
  __device__ void Init() const {
    for (int i = 0; i < kImages; ++i) BarrierInit(full + 8 * i, 1);
    for (int i = 0; i < kImages; ++i) BarrierInit(empty + 8 * i, kResidual ? 8 : 1);
    for (int i = 0; i < kImages + kResiduals; ++i) BarrierInit(done + 8 * i, kResidual ? 8 : 16);
    for (int i = 0; i < kResiduals; ++i) BarrierInit(residual_full + 8 * i, 1);
    for (int i = 0; i < kResiduals; ++i) BarrierInit(residual_empty + 8 * i, 1);
    BarrierInitFence();
  }
};

// Products of kPixels pixels from `first` on. kEarly steps before the end, the other warpgroup,
// which waits at the named barrier `other`, may begin.
template <typename T, int kPixels>
__device__ __forceinline__ void Multiply(float (&sums)[kPixels / 2],
                                         const uint4 (&weights)[kConv3x3Steps], uint32_t first,
                                         int other) {
  Pin(sums);
  WgmmaFence();
#pragma unroll
  for (int k = 0; k < kConv3x3Steps; ++k) {
    const int tap = k >> 2;
    const uint32_t at = first + (tap / 3 * kPitch + tap % 3) * kPixelBytes + (k & 3) * 32;
    if (k == kConv3x3Steps - kEarly) NamedArrive(other, 256);
    Wgmma(T(), sums, weights[k], SwizzledOperand(at), k > 0);
  }
  WgmmaCommit();
}

// Applies bias, residual and ReLU and makes channels innermost again. `to`: location of pixel 0 of
// the sub-tile, both for the result and the residual.
template <typename T, int kPixels, bool kResidual, bool kRelu>
__device__ __forceinline__ void Finish(const float (&sums)[kPixels / 2], const float (&bias)[2],
                                       uint32_t to, int thread) {
  const int lane = thread & 31, warp = thread >> 5;
  const int i = lane & 7, m = lane >> 3;
  const int unit = warp * 2 + (m & 1), pixel = (m >> 1) * 8 + i;
  const uint32_t mine = to + pixel * kPixelBytes + ((unit ^ i) << 4);
#pragma unroll
  for (int j = 0; j < kPixels / 8; j += 2) {
    const bool two = j + 1 < kPixels / 8;
    const uint32_t at = mine + j * 8 * kPixelBytes;
    uint32_t residual[4] = {}, result[4] = {};
    if (kResidual && two) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(residual[0]), "=r"(residual[1]), "=r"(residual[2]), "=r"(residual[3])
                   : "r"(at));
    } else if (kResidual) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                   : "=r"(residual[0]), "=r"(residual[1])
                   : "r"(at));
    }
#pragma unroll
    for (int q = 0; q < (two ? 4 : 2); ++q) {
      float low = sums[4 * j + 2 * q] + bias[q & 1], high = sums[4 * j + 2 * q + 1] + bias[q & 1];
      if (kResidual) {
        const float2 add = Unpack(T(), residual[q]);
        low += add.x;
        high += add.y;
      }
      result[q] = kRelu ? PackRelu(T(), low, high) : Pack(T(), low, high);
    }
    if (two) {
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
          "r"(result[0]), "r"(result[1]), "r"(result[2]), "r"(result[3])
          : "memory");
    } else {
      asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(at),
                   "r"(result[0]), "r"(result[1])
                   : "memory");
    }
  }
  SharedFence();
  __syncwarp();
}

// Runs in one warpgroup. Its number is a template argument, so that descriptors stay in uniform
// registers.
template <typename T, bool kResidual, bool kRelu, int kGroup>
class Multiplier {
 public:
  __device__ Multiplier(const Conv3x3Parameters& p, const Barriers& barriers, uint32_t shared)
      : p_(p), barriers_(barriers), shared_(shared), thread_(threadIdx.x & 127) {
#pragma unroll
    for (int k = 0; k < kConv3x3Steps; ++k) {
      weights_[k] = static_cast<const uint4*>(p.weights)[k * 128 + thread_];
    }
    const int channel = (thread_ >> 5) * 16 + ((thread_ & 31) >> 2);
    bias_[0] = p.bias[channel];
    bias_[1] = p.bias[channel + 8];
  }

  __device__ __forceinline__ void Run() {
    if (kGroup == 1) {  // the other warpgroup begins
      NamedArrive(3, 256);
      if (!kResidual) NamedArrive(5, 256);
    }
    int n = 0;
    for (int t = blockIdx.x; t < p_.tiles; t += gridDim.x, ++n) {
      const int buffer = n % kImages;
      BarrierWait(barriers_.full + 8 * buffer, n / kImages & 1);
      if constexpr (kResidual && kGroup == 0) SubTile<120>(n, 0, 0);
      if constexpr (kResidual && kGroup == 1) SubTile<112>(n, 0, 120);
      if constexpr (kResidual) SubTile<88>(n, 1, kSecondHalf + kGroup * 88);
      if constexpr (!kResidual) {
        SubTile<104>(n, 0, kGroup * 104);
        SubTile<96>(n, 1, 208 + kGroup * 96);
      }
    }
  }

 private:
  // Computes kPixels pixels from `first` on, part `half` of the block's n-th tile.
  template <int kPixels>
  __device__ __forceinline__ void SubTile(int n, int half, int first) {
    // Named barriers for use of the tensor cores.
    constexpr int kMine = 3 + kGroup, kOther = 4 - kGroup;
    // Named barriers for image rows that have been read.
    constexpr int kMineRead = 5 + kGroup, kOtherRead = 6 - kGroup;
    const int lane = thread_ & 31, buffer = n % kImages;
    const uint32_t image = shared_ + buffer * kImageBuffer;
    float sums[kPixels / 2];
    NamedSync(kMine, 256);
    Multiply<T, kPixels>(sums, weights_, image + first * kPixelBytes, kOther);
    WgmmaWait<0>(sums);
    if constexpr (!kResidual) {  // results overwrite rows that the previous product reads
      // In this order, so that an arrival for the next round cannot overtake the other warpgroup's
      // wait for this one.
      NamedSync(kMineRead, 256);
      NamedArrive(kOtherRead, 256);
      Finish<T, kPixels, kResidual, kRelu>(sums, bias_, image + first * kPixelBytes, thread_);
      if (lane == 0) BarrierArrive(barriers_.done + 8 * buffer);
    } else {
      const int part = 2 * n + half, slot = part % kResiduals;
      if (half == 1 && lane == 0) BarrierArrive(barriers_.empty + 8 * buffer);
      BarrierWait(barriers_.residual_full + 8 * slot, part / kResiduals & 1);
      const uint32_t to = shared_ + kImages * kImageBuffer + slot * kResidualBuffer +
                          (first - half * kSecondHalf) * kPixelBytes;
      Finish<T, kPixels, kResidual, kRelu>(sums, bias_, to, thread_);
      if (lane == 0) BarrierArrive(barriers_.done + 8 * slot);
    }
  }

  const Conv3x3Parameters& p_;
  const Barriers& barriers_;
  const uint32_t shared_;
  const int thread_;
  uint4 weights_[kConv3x3Steps];
  float bias_[2];
};

// The first image and row of a tile.
struct Place {
  int image, row;
  __device__ Place(const Conv3x3Parameters& p, int tile)
      : image(tile / p.image_tiles), row((tile - image * p.image_tiles) * kConv3x3Rows) {}
};

__device__ __forceinline__ void BringImages(const Conv3x3Parameters& p, const Barriers& barriers,
                                            uint32_t shared) {
  int n = 0;
  for (int t = blockIdx.x; t < p.tiles; t += gridDim.x, ++n) {
    const int buffer = n % kImages;
    const Place place(p, t);
    BarrierWait(barriers.empty + 8 * buffer, (n / kImages & 1) ^ 1);
    BarrierExpect(barriers.full + 8 * buffer, kImageBytes);
    LoadBox(shared + buffer * kImageBuffer, p.image, barriers.full + 8 * buffer, 0, -1,
            place.row - 1, place.image);
  }
}

__device__ __forceinline__ void BringResiduals(const Conv3x3Parameters& p, const Barriers& barriers,
                                               uint32_t buffers) {
  int n = 0;
  for (int t = blockIdx.x; t < p.tiles; t += gridDim.x) {
    const Place place(p, t);
    for (int half = 0; half < 2; ++half, ++n) {
      const int slot = n % kResiduals;
      const int rows = half == 0 ? kConv3x3FirstHalfRows : kConv3x3Rows - kConv3x3FirstHalfRows;
      BarrierWait(barriers.residual_empty + 8 * slot, (n / kResiduals & 1) ^ 1);
      BarrierExpect(barriers.residual_full + 8 * slot, kPitch * rows * kPixelBytes);
      LoadBox(buffers + slot * kResidualBuffer, p.residual[half], barriers.residual_full + 8 * slot,
              0, 0, place.row + half * kConv3x3FirstHalfRows, place.image);
    }
  }
}

template <bool kResidual>
__device__ __forceinline__ void TakeResults(const Conv3x3Parameters& p, const Barriers& barriers,
                                            uint32_t shared) {
  constexpr int kParts = kResidual ? 2 : 1, kBuffers = kResidual ? kResiduals : kImages;
  constexpr int kBufferBytes = kResidual ? kResidualBuffer : kImageBuffer;
  const uint32_t buffers = shared + (kResidual ? kImages * kImageBuffer : 0);
  const uint32_t empty = kResidual ? barriers.residual_empty : barriers.empty;
  int n = 0;
  for (int t = blockIdx.x; t < p.tiles; t += gridDim.x) {
    const Place place(p, t);
    for (int part = 0; part < kParts; ++part, ++n) {
      const int buffer = n % kBuffers;
      BarrierWait(barriers.done + 8 * buffer, n / kBuffers & 1);
      StoreBox(p.result[part], buffers + buffer * kBufferBytes, 0, 0,
               place.row + part * kConv3x3FirstHalfRows, place.image);
      StoresHaveRead();
      BarrierArrive(empty + 8 * buffer);
    }
  }
  StoresAreDone();
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <typename T, bool kResidual, bool kRelu>
__global__ void __launch_bounds__(kThreads, 1)
    Conv3x3([[maybe_unused]] const __grid_constant__ Conv3x3Parameters p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char dynamic[];
  __shared__ __align__(8) uint64_t barrier_words[kBarriers];
  const uint32_t shared = (SharedAddress(dynamic) + 1023) & ~1023u;
  const Barriers barriers(SharedAddress(barrier_words));
  const int thread = static_cast<int>(threadIdx.x);
  LetNextStart(p.next_uses_pdl);
  if (thread == 0) barriers.Init<kResidual>();
  constexpr int kTailWords = kTailBytes / 4;
  for (int i = thread; i < kImages * kTailWords; i += kThreads) {
    const uint32_t at = shared + i / kTailWords * kImageBuffer + kImageBytes + i % kTailWords * 4;
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(0) : "memory");
  }
  SharedFence();
  __syncthreads();
  if (thread >= 256) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if ((thread & 31) != 0) return;
    WaitForLaunchBefore();
    if (thread == 256) BringImages(p, barriers, shared);
    if (thread == 288) TakeResults<kResidual>(p, barriers, shared);
    if (kResidual && thread == 320) {
      BringResiduals(p, barriers, shared + kImages * kImageBuffer);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  if (thread < 128) {
    Multiplier<T, kResidual, kRelu, 0>(p, barriers, shared).Run();
  } else {
    Multiplier<T, kResidual, kRelu, 1>(p, barriers, shared).Run();
  }
#endif
}

template <typename T, bool kResidual, bool kRelu>
KernelCall Call(const Conv3x3Parameters& parameters, int multiprocessors) {
  LaunchShape shape{.block = {kThreads}, .shared_bytes = kSharedBytes<kResidual>};
  shape.grid.x = parameters.tiles < multiprocessors ? parameters.tiles : multiprocessors;
  return KernelCall::Of(Conv3x3<T, kResidual, kRelu>, shape, parameters);
}

template <typename T>
KernelCall Call(const Conv3x3Form& form, const Conv3x3Parameters& parameters, int multiprocessors) {
  if (form.has_residual) {
    return form.has_relu ? Call<T, true, true>(parameters, multiprocessors)
                         : Call<T, true, false>(parameters, multiprocessors);
  }
  return form.has_relu ? Call<T, false, true>(parameters, multiprocessors)
                       : Call<T, false, false>(parameters, multiprocessors);
}

}  // namespace

KernelCall Conv3x3Call(const Conv3x3Form& form, const Conv3x3Parameters& parameters,
                       int multiprocessors) {
  return form.dtype == DType::kF16 ? Call<__half>(form, parameters, multiprocessors)
                                   : Call<__nv_bfloat16>(form, parameters, multiprocessors);
}

}  // namespace onnx_cudnn
