// Products with few rows. A block computes a few columns over the whole depth: a thread loads 16
// bytes of each column at a time, so that it reads the elements of the rows once for all columns.
// The first weights are loaded to registers before the preceding launch has written the rows.
#include "runtime/kernels/cuda/common/copy_engine.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/gemm/gemv.cuh"

namespace onnx_cudnn {
namespace {

using Parameters = GemvParameters;

constexpr int kWarp = 32;

// Columns beyond the last repeat it.
template <typename T>
__device__ __forceinline__ void LoadWeights(const Parameters& p, int first, int k,
                                            Words (&weights)[kGemvColumns]) {
#pragma unroll
  for (int c = 0; c < kGemvColumns; ++c) {
    const int64_t column = min(first + c, p.columns - 1);
    weights[c] = LoadWords(static_cast<const T*>(p.w) + column * p.depth + k);
  }
}

template <typename T, int kLanes>
__device__ __forceinline__ Vector<float, kLanes> Widened(const Words& words) {
  Vector<float, kLanes> wide;
#pragma unroll
  for (int i = 0; i < kVectorBytes / 4; ++i) {
    if constexpr (sizeof(T) == 4) {
      wide[i] = __uint_as_float(words[i]);
    } else {
      const float2 two = Unpack(T(), words[i]);
      wide[2 * i] = two.x, wide[2 * i + 1] = two.y;
    }
  }
  return wide;
}

// Copies the same elements of each row, rounded to T, to this thread's part of `held`, since there
// are too few registers to keep all loads in flight. Rows beyond the last repeat it.
template <typename T, typename X, int kRows, int kThreads>
__device__ __forceinline__ void LoadRows(const Parameters& p, int k, int thread,
                                         Words (&held)[kRows][kThreads]) {
  constexpr int kLanes = kVectorBytes / sizeof(T);
  Vector<X, kLanes> read[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = min(r, p.rows - 1);
    read[r] = LoadVector<kLanes>(static_cast<const X*>(p.x) + row * p.depth + k);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    Vector<T, kLanes> rounded;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) rounded[i] = Narrow<T>(Widen<float>(read[r][i]));
    StoreVector(reinterpret_cast<T*>(held[r][thread].at), rounded);
  }
}

// Sums each value over the lanes of a warp. Lane i gets the values from i * kCount / 32 on: kCount
// / 32 of them, or one that adjacent lanes get too.
template <int kCount>
__device__ __forceinline__ void AddLanes(float (&values)[kCount], int lane) {
  int count = kCount;
#pragma unroll
  for (int bit = kWarp / 2; bit > 0; bit /= 2) {
    count /= 2;
    if (count == 0) values[0] += __shfl_xor_sync(~0U, values[0], bit);
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      if (i >= count) break;
      const bool is_upper = (lane & bit) != 0;
      const float kept = is_upper ? values[i + count] : values[i];
      const float given = is_upper ? values[i] : values[i + count];
      values[i] = kept + __shfl_xor_sync(~0U, given, bit);
    }
  }
}

template <typename T, typename X, int kRows>
__global__ void __launch_bounds__(GemvMostWarps(kRows) * kWarp, 1)
    Gemv(const __grid_constant__ Parameters p) {
  constexpr int kLanes = kVectorBytes / sizeof(T), kValues = kGemvColumns * kRows;
  constexpr int kEach = kValues > kWarp ? kValues / kWarp : 1;  // values per lane with a result
  constexpr int kSharers = kWarp * kEach / kValues;             // lanes that have the same values
  constexpr int kThreads = GemvMostWarps(kRows) * kWarp;
  __shared__ Words held[kRows][kThreads];
  __shared__ float partial[kThreads / kWarp][kValues];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int first = static_cast<int>(blockIdx.x) * kGemvColumns;
  const int step = static_cast<int>(blockDim.x) * kLanes, begin = thread * kLanes;
  const int column = first + thread / kRows, row = thread % kRows;  // of its result
  const bool has_result = thread < kValues && column < p.columns && row < p.rows;
  LetNextStart(p.next_uses_pdl);
  Words weights[kGemvColumns];
  if (begin < p.depth) LoadWeights<T>(p, first, begin, weights);
  T bias{};  // converted at its use, so that nothing waits for it here
  if (has_result && p.epilogue.bias != nullptr) {
    bias = static_cast<const T*>(p.epilogue.bias)[column];
  }
  WaitForLaunchBefore();
  float sums[kValues] = {};
  // All lanes of a warp run the same number of iterations.
  for (int k = begin; k - lane * kLanes < p.depth; k += step) {
    if (k < p.depth) {
      if (k > begin) LoadWeights<T>(p, first, k, weights);
      LoadRows<T, X>(p, k, thread, held);
    }
    __syncwarp();  // all loads are in flight before the first is used
    if (k >= p.depth) break;
    Vector<float, kLanes> rows[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] = Widened<T, kLanes>(held[r][thread]);
#pragma unroll
    for (int c = 0; c < kGemvColumns; ++c) {
      const Vector<float, kLanes> w = Widened<T, kLanes>(weights[c]);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          sums[c * kRows + r] = fmaf(w[i], rows[r][i], sums[c * kRows + r]);
        }
      }
    }
  }
  AddLanes(sums, lane);
  if (lane % kSharers == 0) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) partial[warp][lane / kSharers * kEach + i] = sums[i];
  }
  __syncthreads();
  if (!has_result) return;
  float sum = 0;
  for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w) sum += partial[w][thread];
  Store<T>(p.epilogue, static_cast<int64_t>(row) * p.columns + column, sum, Widen<float>(bias));
}

template <typename T, typename X>
KernelCall CallOf(const LaunchShape& shape, const Parameters& p) {
  if (p.rows == 1) return KernelCall::Of(Gemv<T, X, 1>, shape, p);
  if (p.rows == 2) return KernelCall::Of(Gemv<T, X, 2>, shape, p);
  if (p.rows <= 4) return KernelCall::Of(Gemv<T, X, 4>, shape, p);
  return KernelCall::Of(Gemv<T, X, kGemvMostRows>, shape, p);
}

}  // namespace

KernelCall GemvCall(DType w, DType x, const LaunchShape& shape, const Parameters& p) {
  return DTypeVisitor<KernelCall, float, Half, BHalf>::Visit(w, [&](auto e) {
    using T = decltype(e);
    return x == w ? CallOf<T, T>(shape, p) : CallOf<T, float>(shape, p);
  });
}

}  // namespace onnx_cudnn
