// Rotary embeddings. A thread computes both channels of as many pairs as a vector has elements, in
// f32, or copies a vector.
#include "runtime/kernels/cuda/attention/rotary.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/packed.cuh"

namespace onnx_cudnn {
namespace {

template <typename T>
__device__ __forceinline__ const T* RowOf(const RotaryOperand& operand, const uint64_t* index) {
  int64_t at = 0;
#pragma unroll
  for (int a = 0; a < kMostRotaryAxes; ++a) {
    at += static_cast<int64_t>(index[a]) * operand.strides[a];
  }
  return static_cast<const T*>(operand.data) + at;
}

template <typename T, int kWidth>
__device__ __forceinline__ void Load(const T* from, float (&numbers)[kWidth]) {
  WidenAll(LoadVector<kWidth>(from), numbers);
}

// Two vectors that have the channels of each pair side by side, as one of all first and one of all
// second channels.
template <int kWidth>
__device__ __forceinline__ void Unzip(float (&pairs)[2][kWidth]) {
  float all[2 * kWidth];
#pragma unroll
  for (int i = 0; i < 2 * kWidth; ++i) all[i] = pairs[i / kWidth][i % kWidth];
#pragma unroll
  for (int i = 0; i < 2 * kWidth; ++i) pairs[i % 2][i / 2] = all[i];
}

template <int kWidth>
__device__ __forceinline__ void Zip(float (&pairs)[2][kWidth]) {
  float all[2 * kWidth];
#pragma unroll
  for (int i = 0; i < 2 * kWidth; ++i) all[i] = pairs[i % 2][i / 2];
#pragma unroll
  for (int i = 0; i < 2 * kWidth; ++i) pairs[i / kWidth][i % kWidth] = all[i];
}

// The angles of the pairs from `pair` on.
template <typename T, int kWidth>
__device__ __forceinline__ void LoadAngles(const RotaryPart& part, const T* row, int pair,
                                           float (&angles)[2][kWidth]) {
  const bool unzips = part.interleaved && !part.shares_angles;
  const int first = unzips ? 2 * pair : pair;
  Load(row + first, angles[0]);
  Load(row + first + (part.shares_angles ? 0 : unzips ? kWidth : part.pairs), angles[1]);
  if (unzips) Unzip(angles);
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kRotaryThreads)
    Rotate(const __grid_constant__ RotaryParameters p) {
  WaitForLaunchBefore();
  int64_t item = static_cast<int64_t>(blockIdx.x) * kRotaryThreads + threadIdx.x;
  int which = 0;
  for (; which < 2 && item >= p.parts[which].items; ++which) item -= p.parts[which].items;
  const RotaryPart& part = p.parts[which];
  if (item >= part.items) return;
  uint64_t row = static_cast<uint64_t>(item);
  const int pair = static_cast<int>(part.threads.Split(row)) * kWidth;
  int64_t y_row = static_cast<int64_t>(row);
  if (part.is_cache) y_row = part.cache.TargetOf(y_row, part.places, part.fault);
  if (y_row < 0) return;
  uint64_t index[kMostRotaryAxes];
#pragma unroll
  for (int a = 0; a < kMostRotaryAxes; ++a) index[a] = part.axes[a].Split(row);

  const T* from = RowOf<T>(part.x, index);
  T* to = static_cast<T*>(part.y) + y_row * part.row;
  if (pair >= part.pairs) {
    StoreVector(to + part.pairs + pair, LoadVector<kWidth>(from + part.pairs + pair));
    return;
  }
  const int first = part.interleaved ? 2 * pair : pair;
  const int second = first + (part.interleaved ? kWidth : part.pairs);
  float x[2][kWidth], cosines[2][kWidth], sines[2][kWidth], y[2][kWidth];
  Load(from + first, x[0]);
  Load(from + second, x[1]);
  if (part.interleaved) Unzip(x);
  LoadAngles(part, RowOf<T>(part.cosines, index), pair, cosines);
  LoadAngles(part, RowOf<T>(part.sines, index), pair, sines);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    y[0][i] = x[0][i] * cosines[0][i] - x[1][i] * sines[0][i];
    y[1][i] = x[1][i] * cosines[1][i] + x[0][i] * sines[1][i];
  }
  if (part.interleaved) Zip(y);
  StoreVector(to + first, NarrowAll<T>(y[0]));
  StoreVector(to + second, NarrowAll<T>(y[1]));
}

template <typename T>
KernelCall CallOf(bool whole, const LaunchShape& shape, const RotaryParameters& p) {
  constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
  return whole ? KernelCall::Of(Rotate<T, kWidth>, shape, p)
               : KernelCall::Of(Rotate<T, 1>, shape, p);
}

}  // namespace

KernelCall RotaryCall(DType dtype, bool whole, const RotaryParameters& parameters) {
  int64_t items = 0;
  for (const RotaryPart& part : parameters.parts) items += part.items;
  const LaunchShape shape{
      .grid = {static_cast<unsigned>((items + kRotaryThreads - 1) / kRotaryThreads)},
      .block = {kRotaryThreads}};
  if (dtype == DType::kF16) return CallOf<Half>(whole, shape, parameters);
  if (dtype == DType::kBF16) return CallOf<BHalf>(whole, shape, parameters);
  return CallOf<float>(whole, shape, parameters);
}

}  // namespace onnx_cudnn
