// Products of up to 16 rows on tensor cores. The weights are operand a of mma.sync (16 columns of
// the matrix), the rows are operand b, so that up to 8 rows waste nothing of the weights. A warp
// takes every few steps of K, and keeps the next kDepth steps in registers: a step is loaded when
// the step in its place was used. The first are loaded before the preceding launch has written the
// rows.
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/mma.cuh"
#include "runtime/kernels/cuda/gemm/gemv_mma.cuh"

namespace onnx_cudnn {
namespace {

using Parameters = GemvMmaParameters;

constexpr int kWarp = 32;
constexpr int kOfLane = 8;                // of each 32 of K
constexpr int kPairs = kGemvMmaTile / 2;  // of columns g and g + 8
constexpr int kLoads = 4;                 // steps of one tile in flight per thread
constexpr int kSums = kGemvMmaTile * kGemvMmaRows;

// A lane's weights of one tile and step: 16-bit ones, packed as operands a.
template <typename T>
struct Weights16 {
  static constexpr int kStep = kGemvMmaStep;
  Words pieces[2];

  __device__ __forceinline__ void Load(const Parameters& p, int tile, int step, int lane) {
    const int64_t at = (static_cast<int64_t>(tile) * p.steps + step) * 2 * kWarp + lane;
    pieces[0] = LoadWords(p.w, at), pieces[1] = LoadWords(p.w, at + kWarp);
  }
  // Operand a of the i-th 16 of K.
  __device__ __forceinline__ void Operand(const Parameters&, int i, uint32_t (&a)[4]) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) a[j] = pieces[i][j];
  }
};

// Two 4-bit numbers, at bits 0 and 16 of `word`, minus the zero point, times the scale, as
// DequantizeLinear rounds them. A 16-bit float with the bits kMagic | n has the value of kMagic
// plus n.
__device__ __forceinline__ uint32_t Dequantized(__half, uint32_t word, uint32_t zero,
                                                uint32_t scale) {
  constexpr uint32_t kMagic = 0x64006400;  // 1024
  const uint32_t n = (word & 0x000f000fU) | kMagic, z = zero * 0x00010001U | kMagic;
  const __half2 d =
      __hsub2_rn(*reinterpret_cast<const __half2*>(&n), *reinterpret_cast<const __half2*>(&z));
  const __half2 w = __hmul2_rn(d, *reinterpret_cast<const __half2*>(&scale));
  return *reinterpret_cast<const uint32_t*>(&w);
}
__device__ __forceinline__ uint32_t Dequantized(__nv_bfloat16, uint32_t word, uint32_t zero,
                                                uint32_t scale) {
  constexpr uint32_t kMagic = 0x43004300;  // 128
  const uint32_t n = (word & 0x000f000fU) | kMagic, z = zero * 0x00010001U | kMagic;
  const __nv_bfloat162 d = __hsub2_rn(*reinterpret_cast<const __nv_bfloat162*>(&n),
                                      *reinterpret_cast<const __nv_bfloat162*>(&z));
  const __nv_bfloat162 w = __hmul2_rn(d, *reinterpret_cast<const __nv_bfloat162*>(&scale));
  return *reinterpret_cast<const uint32_t*>(&w);
}

// 4-bit ones, with the scales and zero points of columns g and g + 8 in each 32 of K.
template <typename T>
struct Weights4 {
  static constexpr int kStep = kGemvMma4BitStep;
  Words piece;
  uint32_t scales[2];
  uint16_t zeros[2];

  __device__ __forceinline__ void Load(const Parameters& p, int tile, int step, int lane) {
    piece = LoadWords(p.w, (static_cast<int64_t>(tile) * p.steps + step) * kWarp + lane);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int k = step * kStep + i * kGemvMmaStep + lane % 4 * kOfLane;
      const int64_t block = min(k >> p.log_block, p.blocks - 1);
      const int64_t at = (tile * static_cast<int64_t>(p.blocks) + block) * kPairs + lane / 4;
      scales[i] = static_cast<const uint32_t*>(p.scales)[at];
      zeros[i] = static_cast<uint16_t>(p.zero * 0x101);
      if (p.zeros != nullptr) zeros[i] = static_cast<const uint16_t*>(p.zeros)[at];
    }
  }
  __device__ __forceinline__ void Operand(const Parameters&, int i, uint32_t (&a)[4]) const {
    const int run = i / 2;
#pragma unroll
    for (int j = 0; j < 4; ++j) {  // columns g and g + 8 alternate
      const uint32_t word = piece[2 * run + j % 2] >> (4 * (i % 2 * 2 + j / 2));
      const uint32_t half = scales[run] >> (j % 2 * 16) & 0xffffU;
      a[j] = Dequantized(T{}, word, zeros[run] >> (j % 2 * 8) & 0xffU, half | half << 16);
    }
  }
};

// A lane's part of the rows in a step, operands b. Zero beyond the last row and the depth.
template <typename T, int kGroups, int kStep>
struct Rows {
  Words x[kGroups][kStep / kGemvMmaStep];

  __device__ __forceinline__ void Load(const Parameters& p, int step, int lane) {
#pragma unroll
    for (int r = 0; r < kGroups; ++r) {
#pragma unroll
      for (int i = 0; i < kStep / kGemvMmaStep; ++i) {
        const int row = r * kGemvMmaRows + lane / 4;
        const int k = step * kStep + i * kGemvMmaStep + lane % 4 * kOfLane;
        x[r][i] = Words{};
        if (row >= p.rows || k >= p.depth) continue;
        const int64_t at = static_cast<int64_t>(row) * p.depth + k;
        x[r][i] = LoadWords(p.x, at / kOfLane);
      }
    }
  }
};

// sums[tile][group] += weights × rows.
template <typename T, typename W, int kTiles, int kGroups>
__device__ __forceinline__ void AddStep(const Parameters& p, const W (&weights)[kTiles],
                                        const Rows<T, kGroups, W::kStep>& rows,
                                        float (&sums)[kTiles][kGroups][4]) {
#pragma unroll
  for (int i = 0; i < W::kStep / 16; ++i) {
#pragma unroll
    for (int c = 0; c < kTiles; ++c) {
      uint32_t a[4];
      weights[c].Operand(p, i, a);
#pragma unroll
      for (int r = 0; r < kGroups; ++r) {
        const Words& b = rows.x[r][i / 2];
        Multiply(T{}, sums[c][r], a, b[i % 2 * 2], b[i % 2 * 2 + 1]);
      }
    }
  }
}

// Adds the sums of all warps in their order, and writes the results of the block.
template <typename T, int kTiles, int kGroups>
__device__ __forceinline__ void WriteResults(const Parameters& p, const float* partial) {
  constexpr int kOfWarp = kTiles * kGroups * kSums;
  const int columns = kTiles * kGemvMmaTile / p.matrices;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  for (int i = static_cast<int>(threadIdx.x); i < columns * p.rows;
       i += static_cast<int>(blockDim.x)) {
    const int row = i / columns, of_block = i % columns, of_tile = of_block % kGemvMmaTile;
    const int column = static_cast<int>(blockIdx.x) * columns + of_block;
    if (column >= p.columns) continue;
    const int lane = of_tile % kPairs * 4 + row % kGemvMmaRows / 2;
    const int element = of_tile / kPairs * 2 + row % 2;
    float sums[2] = {};
    for (int m = 0; m < p.matrices; ++m) {
      const int tile = of_block / kGemvMmaTile * p.matrices + m;
      const int group = tile * kGroups + row / kGemvMmaRows;
      const float* from = partial + (group * 4 + element) * kWarp + lane;
      for (int w = 0; w < warps; ++w) sums[m] += from[w * kOfWarp];
    }
    FinishResult<T>(p, row, column, sums[0], sums[1]);
  }
}

template <typename T, typename W, int kTiles, int kGroups>
__global__ void __launch_bounds__((kTiles == 4 ? kGemvMmaMostWarps / 2 : kGemvMmaMostWarps) * kWarp,
                                  kTiles == 4 ? 2 : 1)
    GemvMma(const __grid_constant__ Parameters p) {
  constexpr int kDepth = kLoads / kTiles;
  extern __shared__ float partial[];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int first = static_cast<int>(blockIdx.x) * kTiles;
  // The last tile, repeated beyond it.
  const int last = ((p.columns - 1) / kGemvMmaTile + 1) * p.matrices - 1;
  LetNextStart(p.next_uses_pdl);
  W weights[kDepth][kTiles];
  Rows<T, kGroups, W::kStep> rows[kDepth];
#pragma unroll
  for (int d = 0; d < kDepth; ++d) {
    const int step = warp + d * warps;
    if (step >= p.steps) continue;
#pragma unroll
    for (int c = 0; c < kTiles; ++c) weights[d][c].Load(p, min(first + c, last), step, lane);
  }
  WaitForLaunchBefore();
#pragma unroll
  for (int d = 0; d < kDepth; ++d) {
    if (warp + d * warps < p.steps) rows[d].Load(p, warp + d * warps, lane);
  }
  float sums[kTiles][kGroups][4] = {};
  for (int begin = warp; begin < p.steps; begin += kDepth * warps) {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const int step = begin + d * warps, next = step + kDepth * warps;
      if (step >= p.steps) break;
      AddStep<T>(p, weights[d], rows[d], sums);
      if (next >= p.steps) continue;
      rows[d].Load(p, next, lane);
#pragma unroll
      for (int c = 0; c < kTiles; ++c) weights[d][c].Load(p, min(first + c, last), next, lane);
    }
  }
#pragma unroll
  for (int c = 0; c < kTiles; ++c) {
#pragma unroll
    for (int i = 0; i < kGroups * 4; ++i) {
      partial[((warp * kTiles + c) * kGroups * 4 + i) * kWarp + lane] = sums[c][i / 4][i % 4];
    }
  }
  __syncthreads();
  WriteResults<T, kTiles, kGroups>(p, partial);
}

template <typename T, typename W>
KernelCall CallOf(int tiles, const LaunchShape& shape, const Parameters& p) {
  const bool is_two = p.rows > kGemvMmaRows;
  const auto of = [&](auto one, auto two) { return KernelCall::Of(is_two ? two : one, shape, p); };
  if (tiles == 1) return of(GemvMma<T, W, 1, 1>, GemvMma<T, W, 1, 2>);
  if (tiles == 2) return of(GemvMma<T, W, 2, 1>, GemvMma<T, W, 2, 2>);
  return of(GemvMma<T, W, 4, 1>, GemvMma<T, W, 4, 2>);
}

}  // namespace

KernelCall GemvMmaCall(DType dtype, bool is_4bit, int tiles, const LaunchShape& shape,
                       const Parameters& p) {
  return DTypeVisitor<KernelCall, Half, BHalf>::Visit(dtype, [&](auto e) {
    using T = decltype(e);
    return is_4bit ? CallOf<T, Weights4<T>>(tiles, shape, p)
                   : CallOf<T, Weights16<T>>(tiles, shape, p);
  });
}

}  // namespace onnx_cudnn
