// The stem for halves: see stem_pool.cuh.
//
// K. Plane A of a row pair holds the six values of the odd row and two of the even row, plane B the
// other four of this position and of the next. A row of the convolution reads plane A of four
// positions for the first row pair (2 steps of 16), and A of four positions and B of two for each
// other pair (3 steps).
//
// The two rows of the convolution that give a pooled row are multiplied in one iteration at the
// tensor cores.
#include "runtime/kernels/cuda/fused/stem_pool.cuh"

namespace onnx_cudnn {
namespace stem_pool {
namespace {

struct HalvesLayout {
  static constexpr int kRing = 8;
  static constexpr int kPlaneB = kPlane;  // offset after plane A
  static constexpr int kPair = kPlaneB + 2048;
  static constexpr int kBoxes = 1;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ __forceinline__ uint32_t LoadWord(uint32_t from) {
  uint32_t word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(from));
  return word;
}
__device__ __forceinline__ uint2 LoadWords(uint32_t from) {
  uint2 words;
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(words.x), "=r"(words.y) : "r"(from));
  return words;
}
// Converts four or two adjacent raw pixels to the type of the products.
template <typename T, typename Raw>
__device__ __forceinline__ uint2 FourPixels(uint32_t from) {
  if constexpr (sizeof(Raw) == 2) {
    return LoadWords(from);
  } else {
    const float4 f = LoadFloats(from);
    return make_uint2(Pack(T(), f.x, f.y), Pack(T(), f.z, f.w));
  }
}
template <typename T, typename Raw>
__device__ __forceinline__ uint32_t TwoPixels(uint32_t from) {
  if constexpr (sizeof(Raw) == 2) {
    return LoadWord(from);
  } else {
    const float2 f = LoadTwoFloats(from);
    return Pack(T(), f.x, f.y);
  }
}

// Multiplies one row of the convolution, starting at row pair `pair` of the ring.
template <typename T>
__device__ __forceinline__ void ConvRow(float (&sums)[kSums], const uint4 (&weights)[kStemSteps],
                                        uint32_t ring, int pair) {
  using Layout = HalvesLayout;
  WgmmaFence();
#pragma unroll
  for (int k = 0; k < kStemSteps; ++k) {
    const int q = (k + 1) / 3, e = k - (q == 0 ? 0 : 3 * q - 1);  // row pair, and step within it
    const uint32_t planes = ring + ((pair + q) & (2 * Layout::kRing - 1)) * Layout::kPair;
    const uint64_t b = e < 2 ? Descriptor(planes + e * 256, 128, 128)
                             : Descriptor(planes + Layout::kPlaneB, 256, 128);
    Wgmma(T(), sums, weights[k], b, k > 0);
  }
  WgmmaCommit();
}

// Applies bias and ReLU and pools along x. pooled[q][h]: columns 7 (2t) + q (low half) and 7 (2t +
// 1) + q (high half) of channel g or g + 8. The value before the first column is 0, the least
// result of ReLU.
template <typename T>
__device__ __forceinline__ void PoolRow(const float (&sums)[kSums], const float (&bias)[2],
                                        int lane, uint32_t (&pooled)[kPooledPart][2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    uint32_t columns[14];
#pragma unroll
    for (int j = 0; j < 14; ++j) {
      columns[j] = PackRelu(T(), sums[4 * j + 2 * h] + bias[h], sums[4 * j + 2 * h + 1] + bias[h]);
    }
    uint32_t before = __shfl_sync(~0u, columns[13], lane - 1);
    if ((lane & 3) == 0) before = 0;
    before = __byte_perm(before, columns[13], 0x5432);
    pooled[0][h] = MaxOfHalves(T(), MaxOfHalves(T(), before, columns[0]), columns[1]);
#pragma unroll
    for (int q = 1; q < kPooledPart; ++q) {
      pooled[q][h] = MaxOfHalves(T(), MaxOfHalves(T(), columns[2 * q - 1], columns[2 * q]),
                                 columns[2 * q + 1]);
    }
  }
}

template <typename T>
__device__ __forceinline__ void MaxInto(uint32_t (&to)[kPooledPart][2],
                                        const uint32_t (&from)[kPooledPart][2]) {
#pragma unroll
  for (int q = 0; q < kPooledPart; ++q) {
#pragma unroll
    for (int h = 0; h < 2; ++h) to[q][h] = MaxOfHalves(T(), to[q][h], from[q][h]);
  }
}

// Stores a pooled row in shared memory, channels innermost (128-byte swizzle).
__device__ __forceinline__ void StoreRow(uint32_t stage, int thread,
                                         const uint32_t (&pooled)[kPooledPart][2]) {
  const int lane = thread & 31, warp = thread >> 5;
  const int i = lane & 7, m = lane >> 3, unit = warp * 2 + (m & 1);
#pragma unroll
  for (int q0 = 0; q0 < 8; q0 += 2) {
    const int q = q0 + (m >> 1);
    const uint32_t to = stage + (7 * i + q) * 128 + ((unit ^ ((q - i) & 7)) << 4);
    if (q0 < 6) {
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
          "r"(pooled[q0][0]), "r"(pooled[q0][1]), "r"(pooled[q0 < 6 ? q0 + 1 : 0][0]),
          "r"(pooled[q0 < 6 ? q0 + 1 : 0][1])
          : "memory");
    } else {
      asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(to),
                   "r"(pooled[6][0]), "r"(pooled[6][1])
                   : "memory");
    }
  }
}

template <typename T>
class HalvesPool {
 public:
  __device__ __forceinline__ HalvesPool(const StemPoolParameters& p, int thread)
      : filters_(p, thread), thread_(thread), lane_(thread & 31) {}

  template <typename Order>
  __device__ __forceinline__ void FirstRow(Order& order, uint32_t ring, int pair) {
    order.Wait();
    ConvRow<T>(lower_, filters_.weights, ring, pair);
    order.Arrive();
    WgmmaWait<0>(lower_);
    PoolRow<T>(lower_, filters_.bias, lane_, carry_);
  }

  __device__ __forceinline__ void SkipFirstRow() {
#pragma unroll
    for (int q = 0; q < kPooledPart; ++q) carry_[q][0] = carry_[q][1] = 0;
  }

  template <typename Order, typename Stream>
  __device__ __forceinline__ void TwoRows(Order& order, const Stream& stream, int step,
                                          uint32_t stage) {
    uint32_t pooled[kPooledPart][2];
    order.Wait();
    ConvRow<T>(upper_, filters_.weights, stream.ring, 2 * step + 1);
    ConvRow<T>(lower_, filters_.weights, stream.ring, 2 * step + 2);
    order.Arrive();
    WgmmaWait<1>(upper_);
    PoolRow<T>(upper_, filters_.bias, lane_, pooled);
    MaxInto<T>(pooled, carry_);
    WgmmaWait<0>(lower_);
    stream.Release(step, lane_);
    PoolRow<T>(lower_, filters_.bias, lane_, carry_);
    MaxInto<T>(pooled, carry_);
    StoreRow(stage, thread_, pooled);
  }

 private:
  const Filters<kStemSteps> filters_;
  const int thread_, lane_;
  float upper_[kSums], lower_[kSums];  // rows 2y and 2y + 1 of the convolution
  uint32_t carry_[kPooledPart][2];     // the previous row, pooled along x
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

// T: type of the products.
template <typename T, typename RawT>
struct Halves : HalvesLayout {
  using Raw = RawT;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static constexpr int kSlots = 1;
  using Pool = HalvesPool<T>;

  __device__ __forceinline__ static void FillPair(const Columns& columns, uint32_t from,
                                                  uint32_t to) {
    using Rows = RawRows<Raw>;
    const uint32_t a = from + columns.first, b = from + columns.third;
    uint2 odd[3], even[3];
    uint32_t even_third[2];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      even[c] = FourPixels<T, Raw>(a + c * Rows::kChannel);
      odd[c] = FourPixels<T, Raw>(a + c * Rows::kChannel + Rows::kRow);
      if (!columns.has_first) even[c] = odd[c] = make_uint2(0, 0);
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      even_third[c] = columns.has_third ? TwoPixels<T, Raw>(b + c * Rows::kChannel) : 0;
    }
    StoreWords(to, odd[0].x, odd[1].x, odd[2].x, even[2].x);
    StoreWords(to + 128, odd[0].y, odd[1].y, odd[2].y, even[2].y);
    StoreWords(to + kPlaneB, even[0].x, even[1].x, even[0].y, even[1].y);
    StoreWords(to + kPlaneB + 128, even[0].y, even[1].y, even_third[0], even_third[1]);
    if (!columns.is_last) return;
    uint32_t last[4] = {0, 0, 0, 0};  // for plane A
    if (columns.has_third) {
#pragma unroll
      for (int c = 0; c < 3; ++c) last[c] = TwoPixels<T, Raw>(b + c * Rows::kChannel + Rows::kRow);
      last[3] = TwoPixels<T, Raw>(b + 2 * Rows::kChannel);
    }
    StoreWords(to + 256, last[0], last[1], last[2], last[3]);
  }

#endif  // __CUDA_ARCH_FEAT_SM90_ALL
};

}  // namespace
}  // namespace stem_pool

KernelCall StemPoolCall(DType compute, DType input, const StemPoolParameters& parameters,
                        int multiprocessors) {
  const auto call = [&](auto form) {
    return stem_pool::Call<decltype(form)>(parameters, multiprocessors);
  };
  if (compute == DType::kF32) return StemPoolTf32Call(parameters, multiprocessors);
  using stem_pool::Halves;
  if (compute == DType::kF16) {
    return input == DType::kF32 ? call(Halves<__half, float>()) : call(Halves<__half, __half>());
  }
  return input == DType::kF32 ? call(Halves<__nv_bfloat16, float>())
                              : call(Halves<__nv_bfloat16, __nv_bfloat16>());
}

}  // namespace onnx_cudnn
