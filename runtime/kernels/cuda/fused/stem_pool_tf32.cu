// The stem for f32 in TF32: see stem_pool.cuh.
//
// K. The planes of a row pair hold four values per position: channels 0 and 1 of the odd row,
// channel 2 of both rows, channels 0 and 1 of the even row. A row of the convolution reads the
// first two planes at four positions for the first row pair (4 steps of 8), and all three planes
// for each other pair (6 steps). The image is rounded to TF32 when it is copied to the planes.
//
// Sums and pooling are in f32; bias and ReLU are applied after pooling, which gives the same bits.
// Each row of the convolution is multiplied in an iteration of its own, because weights use the
// registers in which the kernel for halves has the second row.
#include <limits>

#include "runtime/kernels/cuda/fused/stem_pool.cuh"

namespace onnx_cudnn {
namespace stem_pool {
namespace {

struct Tf32Layout {
  using Raw = float;
  static constexpr int kRing = 4;
  static constexpr int kPlanes = 3;
  static constexpr int kPair = kPlanes * kPlane;
  static constexpr int kBoxes = 2;  // of 32 channels
};
static_assert(kSharedBytes<Tf32Layout> <= 227 * 1024 - 1024);

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// The value before the first row and column: no number is smaller.
constexpr float kLeast = -std::numeric_limits<float>::infinity();

__device__ __forceinline__ uint32_t ToTf32(float x) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ void StoreFloat(uint32_t to, float x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(__float_as_uint(x)) : "memory");
}
// NaN is kept.
__device__ __forceinline__ float Relu(float x) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(0.0F));
  return y;
}

// Fills two positions of a plane from four pixels of two rows or channels.
__device__ __forceinline__ void FillPositions(bool is_inside, uint32_t a, uint32_t b, uint32_t to) {
  float4 x = LoadFloats(a), y = LoadFloats(b);
  if (!is_inside) x = y = make_float4(0, 0, 0, 0);
  StoreWords(to, ToTf32(x.x), ToTf32(x.y), ToTf32(y.x), ToTf32(y.y));
  StoreWords(to + 128, ToTf32(x.z), ToTf32(x.w), ToTf32(y.z), ToTf32(y.w));
}
__device__ __forceinline__ void FillPosition(bool is_inside, uint32_t a, uint32_t b, uint32_t to) {
  float2 x = LoadTwoFloats(a), y = LoadTwoFloats(b);
  if (!is_inside) x = y = make_float2(0, 0);
  StoreWords(to, ToTf32(x.x), ToTf32(x.y), ToTf32(y.x), ToTf32(y.y));
}

// Multiplies one row of the convolution, starting at row pair `pair` of the ring.
__device__ __forceinline__ void ConvRow(float (&sums)[kSums],
                                        const uint4 (&weights)[kStemTf32Steps], uint32_t ring,
                                        int pair) {
  using Layout = Tf32Layout;
  WgmmaFence();
#pragma unroll
  for (int k = 0; k < kStemTf32Steps; ++k) {
    const int q = (k + 2) / 6, e = k - (q == 0 ? 0 : 6 * q - 2);  // row pair, and step within it
    const uint32_t planes = ring + ((pair + q) & (2 * Layout::kRing - 1)) * Layout::kPair;
    const uint64_t b = Descriptor(planes + e / 2 * kPlane + e % 2 * 256, 128, 128);
    Wgmma(float(), sums, weights[k], b, k > 0);
  }
  WgmmaCommit();
}

// Pools along x: visit(h, c, largest) for columns 14 t + c of channel g + 8 h, in order.
template <typename Visit>
__device__ __forceinline__ void PoolRow(const float (&sums)[kSums], int lane, Visit visit) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const auto column = [&](int e, int j) { return sums[4 * j + 2 * h + e]; };
    float before = __shfl_sync(~0u, column(1, 13), lane - 1);
    if ((lane & 3) == 0) before = kLeast;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      visit(h, e * kPooledPart, fmaxf(fmaxf(before, column(e, 0)), column(e, 1)));
#pragma unroll
      for (int q = 1; q < kPooledPart; ++q) {
        visit(h, e * kPooledPart + q,
              fmaxf(fmaxf(column(e, 2 * q - 1), column(e, 2 * q)), column(e, 2 * q + 1)));
      }
      before = column(e, 13);
    }
  }
}

// Where a thread stores its part of a pooled row: channels innermost, 32 of them in 128 bytes
// (swizzled), followed by the other 32.
struct Stage {
  uint32_t at[4];  // channel g of columns 14 t + 2 k; columns 8 further have the same swizzle

  __device__ Stage(uint32_t stage, int lane, int warp) {
    const int g = lane >> 2, t = lane & 3, unit = (warp & 1) * 4 + (g >> 2);
    const uint32_t first = stage + (warp >> 1) * kBoxBytes + 14 * t * 128 + (g & 3) * 4;
#pragma unroll
    for (int k = 0; k < 4; ++k) at[k] = first + ((unit ^ ((7 * t + k) & 3) << 1) << 4);
  }
  __device__ void Store(int h, int c, float x) const {
    StoreFloat((at[c >> 1 & 3] ^ (h << 5 | (c & 1) << 4)) + c * 128, x);
  }
};

class Tf32Pool {
 public:
  __device__ __forceinline__ Tf32Pool(const StemPoolParameters& p, int thread)
      : filters_(p, thread), lane_(thread & 31), warp_(thread >> 5) {}

  template <typename Order>
  __device__ __forceinline__ void FirstRow(Order& order, uint32_t ring, int pair) {
    Multiply(order, ring, pair);
    PoolRow(sums_, lane_, [&](int h, int c, float x) { carry_[h][c] = x; });
  }

  __device__ __forceinline__ void SkipFirstRow() {
#pragma unroll
    for (int c = 0; c < 2 * kPooledPart; ++c) carry_[0][c] = carry_[1][c] = kLeast;
  }

  template <typename Order, typename Stream>
  __device__ __forceinline__ void TwoRows(Order& order, const Stream& stream, int step,
                                          uint32_t stage) {
    Multiply(order, stream.ring, 2 * step + 1);
    stream.Release(step, lane_);
    PoolRow(sums_, lane_, [&](int h, int c, float x) { carry_[h][c] = fmaxf(carry_[h][c], x); });
    Multiply(order, stream.ring, 2 * step + 2);
    const Stage mine(stage, lane_, warp_);
    PoolRow(sums_, lane_, [&](int h, int c, float x) {
      mine.Store(h, c, Relu(fmaxf(carry_[h][c], x) + filters_.bias[h]));
      carry_[h][c] = x;
    });
  }

 private:
  template <typename Order>
  __device__ __forceinline__ void Multiply(Order& order, uint32_t ring, int pair) {
    order.Wait();
    ConvRow(sums_, filters_.weights, ring, pair);
    order.Arrive();
    WgmmaWait<0>(sums_);
  }

  const Filters<kStemTf32Steps> filters_;
  const int lane_, warp_;
  float sums_[kSums];
  float carry_[2][2 * kPooledPart];  // the previous row, pooled along x
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

struct Tf32 : Tf32Layout {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static constexpr int kSlots = 2;
  using Pool = Tf32Pool;

  __device__ __forceinline__ static void FillPair(const Columns& columns, uint32_t from,
                                                  uint32_t to) {
    using Rows = RawRows<Raw>;
    // Two rows or channels of each plane.
    constexpr int kEven = 0, kOdd = Rows::kRow, kChannel = Rows::kChannel;
    constexpr int kFrom[kPlanes][2] = {{kOdd, kOdd + kChannel},
                                       {kOdd + 2 * kChannel, kEven + 2 * kChannel},
                                       {kEven, kEven + kChannel}};
#pragma unroll
    for (int plane = 0; plane < kPlanes; ++plane) {
      const uint32_t a = from + kFrom[plane][0], b = from + kFrom[plane][1];
      const uint32_t at = to + plane * kPlane;
      FillPositions(columns.has_first, a + columns.first, b + columns.first, at);
      if (!columns.is_last) continue;
      FillPosition(columns.has_third, a + columns.third, b + columns.third, at + 256);
    }
  }

#endif  // __CUDA_ARCH_FEAT_SM90_ALL
};

}  // namespace
}  // namespace stem_pool

KernelCall StemPoolTf32Call(const StemPoolParameters& parameters, int multiprocessors) {
  return stem_pool::Call<stem_pool::Tf32>(parameters, multiprocessors);
}

}  // namespace onnx_cudnn
