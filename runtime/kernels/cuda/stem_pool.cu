// Channels stand on M of wgmma (64), one row of the convolution on N (112 pixels), weights are the
// register operand. Facts and measurements: gpu.md, probe10.
//
// K. A position is two image rows × two columns × 3 channels = 12 values. Plane A of a row pair
// holds the odd row's six and two of the even row's (16 bytes a position), plane B the other four
// of this position and of the next. A row of the convolution needs four row pairs: of the first
// only its odd row (plane A of four positions: 2 steps of 16), of the others A of four positions
// and B of two (3 steps).
//
// N. Column 14 i + j of the convolution is row i of core matrix j, so that one position on is 128
// bytes on, and the pool's neighbours are other registers of the same thread but for one shuffle.
//
// A block is two streams, each a run of pooled rows, image after image, with a warpgroup that
// multiplies and pools, two warps that bring rows into the planes, and a ring between them; the
// copy engine brings raw rows. The warpgroups take turns at the tensor cores: one pools while the
// other multiplies.
#include <type_traits>

#include "runtime/kernels/cuda/copy_engine.cuh"
#include "runtime/kernels/cuda/stem_pool.h"
#include "runtime/kernels/cuda/wgmma.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = 384;       // two warpgroups that multiply, four warps that bring rows
constexpr int kColumns = 112;       // of the convolution
constexpr int kPooledColumns = 56;  // of the result
constexpr int kPlaneB = 2176;       // bytes of plane A: 17 positions' 128
constexpr int kPair = 4224;         // of both planes of a row pair
constexpr int kRing = 8;            // steps of two row pairs
constexpr int kStage = 7168;        // a pooled row: 56 pixels × 128 bytes
constexpr int kPooledPairs = 7;     // pooled columns of a thread, two a register
constexpr int kSums = kColumns / 2;

template <typename Raw>
struct RawRows {
  static constexpr int kRow = kStemWidth * static_cast<int>(sizeof(Raw));
  static constexpr int kChannel = 4 * kRow;
  static constexpr int kStep = kStemChannels * kChannel;
  static constexpr int kRing = sizeof(Raw) == 4 ? 2 : 4;  // steps
};

template <typename Raw>
constexpr int kSharedBytes =
    4 * kStage + 4 * kRing* kPair + 2 * RawRows<Raw>::kRing* RawRows<Raw>::kStep + 1024;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// The part of one stream of a block.
template <typename Raw>
struct Stream {
  static constexpr int kBarriers = 2 * kRing + RawRows<Raw>::kRing;
  uint32_t full, empty, raw_full;  // barriers: of a ring's steps, of raw steps
  uint32_t ring, raw, stages;      // shared memory
  int first, last;                 // rows

  __device__ Stream(uint32_t barriers, uint32_t shared, int stream, int rows) {
    full = barriers + stream * kBarriers * 8;
    empty = full + 8 * kRing;
    raw_full = empty + 8 * kRing;
    stages = shared + stream * 2 * kStage;
    ring = shared + 4 * kStage + stream * 2 * kRing * kPair;
    raw = shared + 4 * kStage + 4 * kRing * kPair +
          stream * RawRows<Raw>::kRing * RawRows<Raw>::kStep;
    const unsigned streams = gridDim.x * 2, id = blockIdx.x * 2 + stream;
    first = static_cast<int>(static_cast<uint64_t>(rows) * id / streams);
    last = static_cast<int>(static_cast<uint64_t>(rows) * (id + 1) / streams);
  }
};

// Rows of one image: a stream takes one run after the other.
struct Run {
  int image, begin, end;  // pooled rows of the image

  __device__ Run(int row, int last, int image_rows)
      : image(row / image_rows), begin(row - image * image_rows) {
    end = min(image_rows, begin + last - row);
  }
  __device__ int rows() const { return end - begin; }
  // Each brings four image rows; the first two of a run serve the row before it.
  __device__ int steps() const { return rows() + 2; }
};

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
__device__ __forceinline__ float4 LoadFloats(uint32_t from) {
  float4 f;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(f.x), "=f"(f.y), "=f"(f.z), "=f"(f.w)
               : "r"(from));
  return f;
}
__device__ __forceinline__ float2 LoadTwoFloats(uint32_t from) {
  float2 f;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(f.x), "=f"(f.y) : "r"(from));
  return f;
}
__device__ __forceinline__ void StoreWords(uint32_t to, uint32_t a, uint32_t b, uint32_t c,
                                           uint32_t d) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// Four or two neighbouring raw pixels in the type of the products.
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

// Asks for raw rows, run by run.
template <typename Raw>
class RawLoader {
 public:
  __device__ RawLoader(const StemPoolParameters& p, const Stream<Raw>& stream)
      : p_(p), stream_(stream), row_(stream.first) {}

  __device__ void Next() {
    if (left_ == 0) {
      if (row_ >= stream_.last) return;
      const Run run(row_, stream_.last, p_.image_rows);
      image_ = run.image;
      image_row_ = 4 * run.begin - 6;
      left_ = run.steps();
      row_ += run.rows();
    }
    constexpr int kDepth = RawRows<Raw>::kRing;
    const uint32_t barrier = stream_.raw_full + 8 * (asked_ % kDepth);
    BarrierExpect(barrier, RawRows<Raw>::kStep);
    LoadBox(stream_.raw + asked_ % kDepth * RawRows<Raw>::kStep, p_.image, barrier, 0, image_row_,
            image_ * kStemChannels);
    image_row_ += 4;
    --left_;
    ++asked_;
  }

 private:
  const StemPoolParameters& p_;
  const Stream<Raw>& stream_;
  int row_, left_ = 0, image_ = 0, image_row_ = 0;
  unsigned asked_ = 0;
};

// 64 threads bring raw rows into the planes of the ring. A thread fills two positions of each row
// pair: those of core row `i`, positions 2m and 2m + 1.
template <typename T, typename Raw>
__device__ __forceinline__ void BringRows(const StemPoolParameters& p, const Stream<Raw>& stream,
                                          int thread, int sync_name) {
  using Rows = RawRows<Raw>;
  constexpr int kTwoPixels = 2 * static_cast<int>(sizeof(Raw));
  const int i = thread & 7, m = thread >> 3;
  const int pair = 14 * i + 2 * m - 2;  // of columns; outside of 0 … 111: zeros
  const bool has_first = pair >= 0, has_third = pair + 2 < kStemWidth / 2;
  const uint32_t first = max(pair, 0) * kTwoPixels;
  const uint32_t third = min(pair + 2, kStemWidth / 2 - 1) * kTwoPixels;
  const uint32_t to = m * 256 + i * 16;
  RawLoader<Raw> loader(p, stream);
  if (thread == 0) {
    WaitForLaunchBefore();
    for (int n = 0; n < Rows::kRing; ++n) loader.Next();
  }
  int steps = 0;
  for (int row = stream.first; row < stream.last;) {
    const Run run(row, stream.last, p.image_rows);
    row += run.rows();
    steps += run.steps();
  }
  for (int n = 0; n < steps; ++n) {
    uint32_t slot = stream.ring + n % kRing * 2 * kPair + to;
    uint32_t from = stream.raw + n % Rows::kRing * Rows::kStep;
    BarrierWait(stream.empty + 8 * (n % kRing), (n / kRing & 1) ^ 1);
    BarrierWait(stream.raw_full + 8 * (n % Rows::kRing), n / Rows::kRing & 1);
#pragma unroll
    for (int half = 0; half < 2; ++half, from += 2 * Rows::kRow, slot += kPair) {
      const uint32_t a = from + first, b = from + third;
      uint2 odd[3], even[3];
      uint32_t even_third[2];
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        even[c] = FourPixels<T, Raw>(a + c * Rows::kChannel);
        odd[c] = FourPixels<T, Raw>(a + c * Rows::kChannel + Rows::kRow);
        if (!has_first) even[c] = odd[c] = make_uint2(0, 0);
      }
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        even_third[c] = has_third ? TwoPixels<T, Raw>(b + c * Rows::kChannel) : 0;
      }
      StoreWords(slot, odd[0].x, odd[1].x, odd[2].x, even[2].x);
      StoreWords(slot + 128, odd[0].y, odd[1].y, odd[2].y, even[2].y);
      StoreWords(slot + kPlaneB, even[0].x, even[1].x, even[0].y, even[1].y);
      StoreWords(slot + kPlaneB + 128, even[0].y, even[1].y, even_third[0], even_third[1]);
      if (m == 7) {  // the last position of plane A
        uint32_t last[4] = {0, 0, 0, 0};
        if (has_third) {
#pragma unroll
          for (int c = 0; c < 3; ++c) {
            last[c] = TwoPixels<T, Raw>(b + c * Rows::kChannel + Rows::kRow);
          }
          last[3] = TwoPixels<T, Raw>(b + 2 * Rows::kChannel);
        }
        StoreWords(slot + 256, last[0], last[1], last[2], last[3]);
      }
    }
    SharedFence();
    __syncwarp();
    if ((thread & 31) == 0) BarrierArrive(stream.full + 8 * (n % kRing));
    NamedSync(sync_name, 64);
    if (thread == 0) loader.Next();
  }
}

// No swizzle, K-major: `along_k` bytes to the next 8 of K, `along_n` to the next 8 of N.
__device__ __forceinline__ uint64_t Descriptor(uint32_t address, int along_k, int along_n) {
  return static_cast<uint64_t>((address >> 4) | (along_k >> 4) << 16) |
         static_cast<uint64_t>(along_n >> 4) << 32;
}

// One row of the convolution, from row pair `pair` of the ring on.
template <typename T>
__device__ __forceinline__ void ConvRow(float (&sums)[kSums], const uint4 (&weights)[kStemSteps],
                                        uint32_t ring, int pair) {
  WgmmaFence();
#pragma unroll
  for (int k = 0; k < kStemSteps; ++k) {
    const int q = (k + 1) / 3, e = k - (q == 0 ? 0 : 3 * q - 1);  // row pair, step inside
    const uint32_t planes = ring + ((pair + q) & (2 * kRing - 1)) * kPair;
    const uint64_t b =
        e < 2 ? Descriptor(planes + e * 256, 128, 128) : Descriptor(planes + kPlaneB, 256, 128);
    Wgmma(T(), sums, weights[k], b, k > 0);
  }
  WgmmaCommit();
}

// Bias, ReLU, and the pool along x. pooled[q][h]: columns 7 (2t) + q (low half) and 7 (2t + 1) + q
// (high half) of channel g or g + 8. Before the first column stands 0, the least that ReLU gives.
template <typename T>
__device__ __forceinline__ void PoolRow(const float (&sums)[kSums], const float (&bias)[2],
                                        int lane, uint32_t (&pooled)[kPooledPairs][2]) {
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
    for (int q = 1; q < kPooledPairs; ++q) {
      pooled[q][h] = MaxOfHalves(T(), MaxOfHalves(T(), columns[2 * q - 1], columns[2 * q]),
                                 columns[2 * q + 1]);
    }
  }
}

template <typename T>
__device__ __forceinline__ void MaxInto(uint32_t (&to)[kPooledPairs][2],
                                        const uint32_t (&from)[kPooledPairs][2]) {
#pragma unroll
  for (int q = 0; q < kPooledPairs; ++q) {
#pragma unroll
    for (int h = 0; h < 2; ++h) to[q][h] = MaxOfHalves(T(), to[q][h], from[q][h]);
  }
}

// A pooled row, channels innermost, into shared memory (128-byte swizzle) and out.
__device__ __forceinline__ void StoreRow(const StemPoolParameters& p, uint32_t stage, int thread,
                                         int sync_name, int row,
                                         const uint32_t (&pooled)[kPooledPairs][2]) {
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
  SharedFence();
  if (thread == 0) StoresHaveRead();  // of the other stage, before anybody writes it again
  NamedSync(sync_name, 128);
  if (thread == 0) StoreBox(p.pooled, stage, 0, row * kPooledColumns);
}

// How often a stream takes its turn: once a row, once more a run.
__device__ __forceinline__ int TurnsOf(int first, int last, int image_rows) {
  int turns = last - first;
  for (int row = first; row < last; ++turns) row += Run(row, last, image_rows).rows();
  return turns;
}

// One warpgroup. Its number is a template argument, so that descriptors stay in uniform registers.
template <typename T, typename Raw, int kStream>
__device__ __forceinline__ void MultiplyAndPool(const StemPoolParameters& p, uint32_t barriers,
                                                uint32_t shared) {
  constexpr int kStoreName = 1 + kStream, kMine = 5 + kStream, kOther = 6 - kStream;
  const int thread = threadIdx.x & 127, lane = thread & 31, warp = thread >> 5;
  const Stream<Raw> stream(barriers, shared, kStream, p.rows);
  const Stream<Raw> other(barriers, shared, 1 - kStream, p.rows);
  const int first = __shfl_sync(~0u, stream.first, 0), last = __shfl_sync(~0u, stream.last, 0);
  const int other_turns = TurnsOf(other.first, other.last, p.image_rows);
  uint4 weights[kStemSteps];
#pragma unroll
  for (int k = 0; k < kStemSteps; ++k) {
    weights[k] = static_cast<const uint4*>(p.weights)[k * 128 + thread];
  }
  const int channel = warp * 16 + (lane >> 2);
  const float bias[2] = {p.bias[channel], p.bias[channel + 8]};
  const auto wait_full = [&](int step) {
    BarrierWait(stream.full + 8 * (step % kRing), step / kRing & 1);
  };
  const auto release = [&](int step) {
    if (lane == 0) BarrierArrive(stream.empty + 8 * (step % kRing));
  };
  float upper[kSums], lower[kSums];  // rows 2y and 2y + 1 of the convolution
  uint32_t pooled[kPooledPairs][2], carry[kPooledPairs][2];
  int step = 0, turns = 0, stored = 0;
  if (kStream == 1) NamedArrive(5, 256);  // the other one begins
  for (int row = first; row < last;) {
    const Run run(row, last, p.image_rows);
    wait_full(step);
    wait_full(step + 1);
    NamedSync(kMine, 256);
    ConvRow<T>(lower, weights, stream.ring, 2 * step);
    NamedArrive(kOther, 256);
    WgmmaWait<0>(lower);
    PoolRow<T>(lower, bias, lane, carry);
    ++turns;
    if (run.begin == 0) {  // the row before is none of the image's
#pragma unroll
      for (int q = 0; q < kPooledPairs; ++q) carry[q][0] = carry[q][1] = 0;
    }
    for (int y = run.begin; y < run.end; ++y, ++row, ++step, ++turns) {
      wait_full(step + 2);
      NamedSync(kMine, 256);
      ConvRow<T>(upper, weights, stream.ring, 2 * step + 1);
      ConvRow<T>(lower, weights, stream.ring, 2 * step + 2);
      NamedArrive(kOther, 256);
      WgmmaWait<1>(upper);
      PoolRow<T>(upper, bias, lane, pooled);
      MaxInto<T>(pooled, carry);
      WgmmaWait<0>(lower);
      release(step);
      PoolRow<T>(lower, bias, lane, carry);
      MaxInto<T>(pooled, carry);
      StoreRow(p, stream.stages + (stored++ & 1) * kStage, thread, kStoreName, row, pooled);
    }
    release(step);
    release(step + 1);
    step += 2;
  }
  for (; turns < other_turns; ++turns) {  // the other one still waits for its turns
    NamedSync(kMine, 256);
    NamedArrive(kOther, 256);
  }
  if (thread == 0) StoresAreDone();
}

template <typename Raw>
__device__ __forceinline__ void InitBarriers(uint32_t barriers) {
  for (int stream = 0; stream < 2; ++stream) {
    uint32_t barrier = barriers + stream * Stream<Raw>::kBarriers * 8;
    for (int i = 0; i < kRing; ++i, barrier += 8) BarrierInit(barrier, 2);  // two warps fill
    for (int i = 0; i < kRing; ++i, barrier += 8) BarrierInit(barrier, 4);  // four warps read
    for (int i = 0; i < RawRows<Raw>::kRing; ++i, barrier += 8) BarrierInit(barrier, 1);
  }
  BarrierInitFence();
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <typename T, typename Raw>
__global__ void __launch_bounds__(kThreads, 1)
    StemPool([[maybe_unused]] const __grid_constant__ StemPoolParameters p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ char dynamic[];
  __shared__ __align__(8) uint64_t barrier_words[2 * Stream<Raw>::kBarriers];
  const uint32_t shared = (SharedAddress(dynamic) + 1023) & ~1023u;
  const uint32_t barriers = SharedAddress(barrier_words);
  const int thread = static_cast<int>(threadIdx.x);
  LaunchDependents();
  if (thread == 0) InitBarriers<Raw>(barriers);
  __syncthreads();
  if (thread >= 256) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    const int stream = (thread - 256) >> 6;
    BringRows<T, Raw>(p, Stream<Raw>(barriers, shared, stream, p.rows), thread & 63, 3 + stream);
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  if (thread < 128) {
    MultiplyAndPool<T, Raw, 0>(p, barriers, shared);
  } else {
    MultiplyAndPool<T, Raw, 1>(p, barriers, shared);
  }
#endif
}

template <typename T, typename Raw>
KernelCall Call(const StemPoolParameters& parameters, int multiprocessors) {
  LaunchShape shape{.block = {kThreads}, .shared_bytes = kSharedBytes<Raw>, .overlaps = true};
  shape.grid.x = multiprocessors;
  return KernelCall::Of(StemPool<T, Raw>, shape, parameters);
}

}  // namespace

KernelCall StemPoolCall(DType compute, DType input, const StemPoolParameters& parameters,
                        int multiprocessors) {
  if (compute == DType::kF16) {
    return input == DType::kF32 ? Call<__half, float>(parameters, multiprocessors)
                                : Call<__half, __half>(parameters, multiprocessors);
  }
  return input == DType::kF32 ? Call<__nv_bfloat16, float>(parameters, multiprocessors)
                              : Call<__nv_bfloat16, __nv_bfloat16>(parameters, multiprocessors);
}

}  // namespace onnx_cudnn
