// Rotary embeddings. A thread computes the same elements of both halves of a row, which depend on
// each other, in f32.
#include "runtime/kernels/cuda/attention/rotary.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/packed.cuh"

namespace onnx_cudnn {
namespace {

template <typename T, int kWidth>
__device__ __forceinline__ void Load(const RotaryOperand& operand, const uint64_t* index,
                                     int column, float (&numbers)[kWidth]) {
  int64_t at = column;
#pragma unroll
  for (int a = 0; a < kMostRotaryAxes; ++a) {
    at += static_cast<int64_t>(index[a]) * operand.strides[a];
  }
  WidenAll(LoadVector<kWidth>(static_cast<const T*>(operand.data) + at), numbers);
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
  const int column = static_cast<int>(part.vectors.Split(row)) * kWidth;
  int64_t y_row = static_cast<int64_t>(row);
  if (part.is_cache) y_row = part.cache.TargetOf(y_row, part.places, part.fault);
  if (y_row < 0) return;
  uint64_t index[kMostRotaryAxes];
#pragma unroll
  for (int a = 0; a < kMostRotaryAxes; ++a) index[a] = part.axes[a].Split(row);

  float x[2][kWidth], cosines[2][kWidth] = {}, sines[2][kWidth] = {};
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    Load<T>(part.x, index, column + h * part.half, x[h]);
    if (part.cosines.data == nullptr) continue;
    const int angle = column + h * part.second_angles;
    Load<T>(part.cosines, index, angle, cosines[h]);
    Load<T>(part.sines, index, angle, sines[h]);
  }
  float y[2][kWidth];
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    y[0][i] = x[0][i], y[1][i] = x[1][i];
    if (part.cosines.data == nullptr) continue;
    y[0][i] = x[0][i] * cosines[0][i] - x[1][i] * sines[0][i];
    y[1][i] = x[1][i] * cosines[1][i] + x[0][i] * sines[1][i];
  }
  T* to = static_cast<T*>(part.y) + y_row * 2 * part.half + column;
  StoreVector(to, NarrowAll<T>(y[0]));
  StoreVector(to + part.half, NarrowAll<T>(y[1]));
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
