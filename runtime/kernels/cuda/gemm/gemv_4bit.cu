// Products of up to 16 rows with weights of four bits in blocks of 32 and more along K, on tensor
// cores. As in gemv_mma.cu the weights are operand a of mma.sync and the rows are operand b, a warp
// takes every few steps of K, and the first weights are loaded before the preceding launch has
// written the rows. A number n of four bits becomes an operand by two instructions per pair, since
// its bits in a 16-bit float have the value kUnit · n + kOffset. Sums of a block of K begin with
// minus the zero point times the sum of the rows, and are then multiplied by the block's scale in
// f32. The blocks of a cluster divide K among them; each adds the sums of some results.
#include "runtime/kernels/cuda/common/cluster.cuh"
#include "runtime/kernels/cuda/common/copy_engine.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/mma.cuh"
#include "runtime/kernels/cuda/gemm/gemv_mma.cuh"

namespace onnx_cudnn {
namespace {

using Parameters = GemvMmaParameters;

constexpr int kWarp = 32;
constexpr int kOfLane = 8;                       // of each 32 of K
constexpr int kPairs = kGemvMmaTile / 2;         // of columns g and g + 8
constexpr int kRuns = kGemv4BitRuns, kRun = 32;  // of a step
constexpr int kPiecesOfStep = 2 * kWarp;         // of 16 bytes, of one tile
static_assert(kGemv4BitStep == kRuns * kRun);

template <typename T>
struct FourBits;
// Subnormal: mma.sync multiplies them exactly.
template <>
struct FourBits<__half> {
  static constexpr uint32_t kMagic = 0, kMinusOne = 0x80018001;  // -kUnit
  static constexpr float kUnit = 0x1p-24F, kOffset = 0;
};
template <>
struct FourBits<__nv_bfloat16> {
  static constexpr uint32_t kMagic = 0x43004300, kMinusOne = 0xbf80bf80;
  static constexpr float kUnit = 1, kOffset = 128;
};
constexpr uint32_t kSigns = 0x80008000, kTwice = 0x00010001;

// A lane's weights of one tile and step with their scales and, if they differ, zero points.
struct Step {
  Words pieces[2];
  Words scales;                   // of columns g and g + 8 in each run
  Vector<uint16_t, kRuns> zeros;  // likewise, as bytes

  // `at`: of the tile and step.
  __device__ __forceinline__ void Load(const Parameters& p, int64_t at, int lane) {
    const int64_t piece = at * kPiecesOfStep + lane;
    pieces[0] = LoadWords<Reuse::kNone>(p.w, piece);
    pieces[1] = LoadWords<Reuse::kNone>(p.w, piece + kWarp);
    LoadRuns(static_cast<const uint32_t*>(p.scales), at, lane, p.scales_of_step, scales);
  }
  __device__ __forceinline__ void LoadZeros(const Parameters& p, int64_t at, int lane) {
    LoadRuns(static_cast<const uint16_t*>(p.zeros) + kGemvZerosHeader / 2, at, lane,
             p.scales_of_step, zeros);
  }

 private:
  template <typename Pair>
  static __device__ __forceinline__ void LoadRuns(const Pair* from, int64_t at, int lane,
                                                  int of_step, Vector<Pair, kRuns>& runs) {
    const int64_t pair = at * kPairs + lane / 4;
    if (of_step == kRuns) {
      runs = LoadVector<kRuns>(from + pair * kRuns);
    } else {
      const Pair one = from[pair];
      runs = {{one, one, one, one}};
    }
  }
};

// A lane's part of the rows in a step, operands b. Zero beyond the depth; rows beyond the last
// repeat it.
template <int kGroups>
struct Rows {
  Words x[kGroups][kRuns];

  __device__ __forceinline__ void Load(const Parameters& p, int step, int lane) {
    const int k = step * kGemv4BitStep + lane % 4 * kOfLane;
#pragma unroll
    for (int r = 0; r < kGroups; ++r) {
      const int row = min(r * kGemvMmaRows + lane / 4, p.rows - 1);
      const auto* from =
          static_cast<const uint16_t*>(p.x) + static_cast<int64_t>(row) * p.depth + k;
#pragma unroll
      for (int i = 0; i < kRuns; ++i) {
        x[r][i] = Words{};
        if (k + i * kRun < p.depth) x[r][i] = LoadWords(from + i * kRun, 0);
      }
    }
  }
};

// sums += a · the 32 of K in `x`.
template <typename T>
__device__ __forceinline__ void AddRows(uint32_t a, const Words& x, float (&sums)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i += 2) Multiply(T{}, sums, {a, a, a, a}, x[i], x[i + 1]);
}

// sums += the weights of a run · `x`; `words` are those of columns g and g + 8.
template <typename T, int kGroups>
__device__ __forceinline__ void AddRun(const uint32_t (&words)[2], int run,
                                       const Words (&x)[kGroups][kRuns],
                                       float (&sums)[kGroups][4]) {
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    uint32_t a[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      a[j] = (words[j % 2] >> (4 * (i + j / 2)) & 0x000f000fU) | FourBits<T>::kMagic;
    }
#pragma unroll
    for (int r = 0; r < kGroups; ++r) Multiply(T{}, sums[r], a, x[r][run][i], x[r][run][i + 1]);
  }
}

// sums[tile][group] += weights · rows / kUnit. `minus_zero`: minus the zero point of all weights,
// or with kHasZeros minus one, as numbers of four bits are.
template <typename T, bool kHasZeros, int kTiles, int kGroups>
__device__ __forceinline__ void AddStep(uint32_t minus_zero, const Step (&steps)[kTiles],
                                        const Rows<kGroups>& rows,
                                        float (&sums)[kTiles][kGroups][4]) {
#pragma unroll
  for (int run = 0; run < kRuns; ++run) {
    float of_rows[kGroups][4] = {};
#pragma unroll
    for (int r = 0; r < kGroups; ++r) AddRows<T>(minus_zero, rows.x[r][run], of_rows[r]);
#pragma unroll
    for (int c = 0; c < kTiles; ++c) {
      float run_sums[kGroups][4];
      const uint32_t zeros = steps[c].zeros[run];
      const float zero[2] = {static_cast<float>(zeros & 0xffU) + FourBits<T>::kOffset,
                             static_cast<float>(zeros >> 8) + FourBits<T>::kOffset};
#pragma unroll
      for (int i = 0; i < kGroups * 4; ++i) {
        run_sums[i / 4][i % 4] = of_rows[i / 4][i % 4] * (kHasZeros ? zero[i % 4 / 2] : 1);
      }
      const Words& piece = steps[c].pieces[run / 2];
      AddRun<T>({piece[run % 2 * 2], piece[run % 2 * 2 + 1]}, run, rows.x, run_sums);
      const float2 scale = Unpack(T{}, steps[c].scales[run]);
#pragma unroll
      for (int i = 0; i < kGroups * 4; ++i) {
        float& sum = sums[c][i / 4][i % 4];
        sum = fmaf(run_sums[i / 4][i % 4], i % 4 < 2 ? scale.x : scale.y, sum);
      }
    }
  }
}

// Which results a block of a cluster adds. Fours are accumulators of a lane: of columns g and g + 8
// in two rows. A result is a four, or two of the same columns of both matrices.
struct Split {
  int rank, blocks, results, own;  // results: of the whole tile; own: of this block
  uint32_t came;                   // barrier

  __device__ __forceinline__ Split(const Parameters& p, int fours, const uint64_t* barrier)
      : rank(static_cast<int>(blockIdx.x) % p.split),
        blocks(p.split),
        results(fours / p.matrices),
        own(results / p.split),
        came(SharedAddress(barrier)) {}
};

// Sum of element `e` of a result's four over the warps of this block.
template <int kTiles, int kGroups>
__device__ __forceinline__ float SumOfWarps(const Parameters& p, const float4* partial, int result,
                                            int e, int matrix) {
  constexpr int kOfTile = kGroups * kWarp, kFours = kTiles * kOfTile;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int four = (result / kOfTile * p.matrices + matrix) * kOfTile + result % kOfTile;
  const float* from = reinterpret_cast<const float*>(partial + four) + e;
  float sum = 0;
  for (int w = 0; w < warps; ++w) sum += from[w * kFours * 4];
  return sum;
}

#if __CUDA_ARCH__ >= 900
// Sends the sums that other blocks of the cluster finish. `received` has those of each block, in
// the order of ranks.
template <int kTiles, int kGroups>
__device__ __forceinline__ void SendSums(const Parameters& p, const Split& split,
                                         const float4* partial, const float4* received) {
  for (int i = static_cast<int>(threadIdx.x); i < split.results;
       i += static_cast<int>(blockDim.x)) {
    const int owner = i / split.own;
    if (owner == split.rank) continue;
    for (int m = 0; m < p.matrices; ++m) {
      const float4* to = received + (split.rank * p.matrices + m) * split.own + i % split.own;
      const auto sum = [&](int e) { return SumOfWarps<kTiles, kGroups>(p, partial, i, e, m); };
      Send(AddressIn(SharedAddress(to), owner), AddressIn(split.came, owner),
           make_float4(sum(0), sum(1), sum(2), sum(3)));
    }
  }
  ClusterBarrierWait(split.came, 0);
}
#endif

// Writes the block's share of the results.
template <typename T, int kTiles, int kGroups>
__device__ __forceinline__ void WriteResults(const Parameters& p, const Split& split,
                                             const float4* partial, const float4* received) {
  const int first = static_cast<int>(blockIdx.x) / split.blocks * (kTiles / p.matrices);
  for (int i = static_cast<int>(threadIdx.x); i < 4 * split.own;
       i += static_cast<int>(blockDim.x)) {
    const int result = split.rank * split.own + i / 4, lane = result % kWarp, e = i % 4;
    const int tile = first + result / (kGroups * kWarp), group = result / kWarp % kGroups;
    const int row = group * kGemvMmaRows + lane % 4 * 2 + e % 2;
    const int column = tile * kGemvMmaTile + lane / 4 + e / 2 * kPairs;
    if (row >= p.rows || column >= p.columns) continue;
    float sums[2] = {};
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      if (m >= p.matrices) break;
      for (int b = 0; b < split.blocks; ++b) {
        const float4* other = received + (b * p.matrices + m) * split.own + i / 4;
        sums[m] += b == split.rank ? SumOfWarps<kTiles, kGroups>(p, partial, result, e, m)
                                   : reinterpret_cast<const float*>(other)[e];
      }
    }
    FinishResult<T>(p, row, column, sums[0], sums[1]);
  }
}

// The steps of a warp, of which each has a place.
template <int kTiles, int kDepth>
struct WarpSteps {
  int begin, stride, lane;
  int tile_at[kTiles];  // first step of each tile

  __device__ __forceinline__ WarpSteps(const Parameters& p, const Split& split, int warp, int lane)
      : begin(split.rank * static_cast<int>(blockDim.x) / kWarp + warp),
        stride(split.blocks * static_cast<int>(blockDim.x) / kWarp),
        lane(lane) {
    const int first = static_cast<int>(blockIdx.x) / split.blocks * kTiles;
    // The last tile, repeated beyond it.
    const int last = ((p.columns - 1) / kGemvMmaTile + 1) * p.matrices - 1;
#pragma unroll
    for (int c = 0; c < kTiles; ++c) tile_at[c] = min(first + c, last) * p.steps;
  }
  // The first ones, before the rows are available; `zeros_only`: the rest of them.
  template <bool kZerosOnly>
  __device__ __forceinline__ void LoadFirst(const Parameters& p,
                                            Step (&steps)[kDepth][kTiles]) const {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const int step = begin + d * stride;
      if (step >= p.steps) continue;
#pragma unroll
      for (int c = 0; c < kTiles; ++c) {
        if constexpr (kZerosOnly) {
          steps[d][c].LoadZeros(p, tile_at[c] + step, lane);
        } else {
          steps[d][c].Load(p, tile_at[c] + step, lane);
        }
      }
    }
  }
  // Each step is loaded when the one in its place was used.
  template <typename T, bool kHasZeros, int kGroups>
  __device__ __forceinline__ void AddAll(const Parameters& p, uint32_t minus_zero,
                                         Step (&steps)[kDepth][kTiles],
                                         float (&sums)[kTiles][kGroups][4]) const {
    if constexpr (kHasZeros) LoadFirst<true>(p, steps);
    WaitForLaunchBefore();
    for (int at = begin; at < p.steps; at += kDepth * stride) {
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        const int step = at + d * stride, next = step + kDepth * stride;
        if (step >= p.steps) break;
        Rows<kGroups> rows;
        rows.Load(p, step, lane);
        AddStep<T, kHasZeros>(minus_zero, steps[d], rows, sums);
        if (next >= p.steps) continue;
#pragma unroll
        for (int c = 0; c < kTiles; ++c) {
          steps[d][c].Load(p, tile_at[c] + next, lane);
          if constexpr (kHasZeros) steps[d][c].LoadZeros(p, tile_at[c] + next, lane);
        }
      }
    }
  }
};

template <typename T, int kTiles, int kGroups>
__global__ void __launch_bounds__(Gemv4BitMostWarps(kTiles, kGroups) * kWarp,
                                  kTiles == 4 && kGroups == 1 ? 2 : 1)
    Gemv4Bit(const __grid_constant__ Parameters p) {
  constexpr int kDepth = kTiles == 4 ? 1 : 2;  // steps in flight per warp
  constexpr int kFours = kTiles * kGroups * kWarp;
  extern __shared__ __align__(16) float4 partial[];
  __shared__ __align__(8) uint64_t barrier;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const Split split(p, kFours, &barrier);
  float4* const received = partial + warps * kFours;
  LetNextStart(p.next_uses_pdl);
#if __CUDA_ARCH__ >= 900
  if (split.blocks > 1) {
    if (thread == 0) {
      BarrierInit(split.came, 1);
      BarrierInitFence();
      BarrierExpect(split.came,
                    (split.blocks - 1) * split.own * p.matrices * static_cast<int>(sizeof(float4)));
    }
    ClusterArrive();
  }
#endif
  const WarpSteps<kTiles, kDepth> own(p, split, warp, lane);
  Step steps[kDepth][kTiles];
  own.template LoadFirst<false>(p, steps);
  uint32_t zero = p.zero;
  if (p.zeros != nullptr) zero = *static_cast<const uint32_t*>(p.zeros);
  float sums[kTiles][kGroups][4] = {};
  if (zero == kGemvZerosDiffer) {
    own.template AddAll<T, true>(p, FourBits<T>::kMinusOne, steps, sums);
  } else {
    const uint32_t minus_zero = zero * kTwice | FourBits<T>::kMagic | kSigns;
    own.template AddAll<T, false>(p, minus_zero, steps, sums);
  }
  constexpr float kFactor = 1 / FourBits<T>::kUnit;
#pragma unroll
  for (int c = 0; c < kTiles; ++c) {
#pragma unroll
    for (int r = 0; r < kGroups; ++r) {
      const float(&s)[4] = sums[c][r];
      partial[warp * kFours + (c * kGroups + r) * kWarp + lane] =
          make_float4(s[0] * kFactor, s[1] * kFactor, s[2] * kFactor, s[3] * kFactor);
    }
  }
  __syncthreads();
#if __CUDA_ARCH__ >= 900
  if (split.blocks > 1) {
    ClusterWait();
    SendSums<kTiles, kGroups>(p, split, partial, received);
  }
#endif
  WriteResults<T, kTiles, kGroups>(p, split, partial, received);
}

template <typename T>
KernelCall CallOf(int tiles, const LaunchShape& shape, const Parameters& p) {
  const bool is_two = p.rows > kGemvMmaRows;
  const auto of = [&](auto one, auto two) { return KernelCall::Of(is_two ? two : one, shape, p); };
  if (tiles == 1) return of(Gemv4Bit<T, 1, 1>, Gemv4Bit<T, 1, 2>);
  if (tiles == 2) return of(Gemv4Bit<T, 2, 1>, Gemv4Bit<T, 2, 2>);
  return of(Gemv4Bit<T, 4, 1>, Gemv4Bit<T, 4, 2>);
}

}  // namespace

KernelCall Gemv4BitCall(DType dtype, int tiles, const LaunchShape& shape, const Parameters& p) {
  return DTypeVisitor<KernelCall, Half, BHalf>::Visit(
      dtype, [&](auto e) { return CallOf<decltype(e)>(tiles, shape, p); });
}

}  // namespace onnx_cudnn
