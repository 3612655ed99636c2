// Depthwise convolution of 7 x 7, and the LayerNormalization of the channels of each pixel. All
// threads of a block take part in its sums, also those without pixels, which store nothing.
#include "runtime/kernels/cuda/conv/depthwise_norm.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/rounded.cuh"
#include "runtime/kernels/cuda/conv/depthwise_square.cuh"

namespace onnx_cudnn {
namespace {

using Parameters = DepthwiseNormParameters;

constexpr int kKernel = 7, kNarrowLanes = 4;
constexpr int kThreads = kDepthwiseNormThreads, kParts = kDepthwiseNormParts;

// Sums over the channels of the pixels of a block, in a fixed order.
template <int kStrip>
struct PixelSums {
  float of_threads[kStrip][kThreads];
  float of_parts[kStrip][kThreads];  // kParts of each strip of columns

  // The sums of `mine` over the `threads` threads of this one's strip.
  __device__ __forceinline__ void Join(int threads, float (&mine)[kStrip]) {
    const int thread = static_cast<int>(threadIdx.x);
    const int strip = thread / threads, first = strip * threads, lane = thread - first;
#pragma unroll
    for (int s = 0; s < kStrip; ++s) of_threads[s][thread] = mine[s];
    __syncthreads();
    if (lane < kParts) {
#pragma unroll
      for (int s = 0; s < kStrip; ++s) {
        float sum = 0;
        for (int i = lane; i < threads; i += kParts) {
          if (first + i < static_cast<int>(blockDim.x)) sum += of_threads[s][first + i];
        }
        of_parts[s][strip * kParts + lane] = sum;
      }
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < kStrip; ++s) {
      mine[s] = 0;
#pragma unroll
      for (int i = 0; i < kParts; ++i) mine[s] += of_parts[s][strip * kParts + i];
    }
  }
};

template <typename T, int kLanes, int kStrip>
__global__ void __launch_bounds__(kThreads) DepthwiseNorm(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  __shared__ PixelSums<kStrip> joined;
  const int threads = static_cast<int>(p.conv.lanes.divisor);  // of a strip
  const uint32_t of_block = static_cast<uint32_t>(threads * p.strips);
  const uint32_t item = blockIdx.x * of_block + threadIdx.x;
  const bool is_used = threadIdx.x < of_block && item < p.conv.items;
  Vector<float, kLanes> sums[kStrip] = {};
  const EpiloguePlace at = PlaceOf<kLanes>(p.conv, is_used ? item : 0, kStrip);
  if (is_used) SumSquare<T, kKernel, 1, kLanes>(p.conv, at, sums);
  const float share = 1.0F / static_cast<float>(p.conv.filters);
  float means[kStrip], variances[kStrip];
#pragma unroll
  for (int s = 0; s < kStrip; ++s) {
    means[s] = 0;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      sums[s][i] = Rounded<T>(sums[s][i]);
      means[s] += sums[s][i];
    }
  }
  joined.Join(threads, means);
#pragma unroll
  for (int s = 0; s < kStrip; ++s) {
    means[s] *= share;
    variances[s] = 0;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const float distance = sums[s][i] - means[s];
      variances[s] += distance * distance;
    }
  }
  joined.Join(threads, variances);
  if (!is_used) return;
  const auto scale = LoadVector<kLanes>(static_cast<const T*>(p.scale) + at.channel);
  Vector<T, kLanes> bias = {};
  if (p.bias != nullptr) bias = LoadVector<kLanes>(static_cast<const T*>(p.bias) + at.channel);
  T* y = static_cast<T*>(p.conv.y) + at.image * p.conv.y_image + at.row * p.conv.y_h + at.channel;
#pragma unroll
  for (int s = 0; s < kStrip; ++s) {
    const float inverse = rsqrtf(variances[s] * share + p.epsilon);
    Vector<T, kLanes> out;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      out[i] = Narrow<T>((sums[s][i] - means[s]) * inverse * Widen<float>(scale[i]) +
                         (p.bias != nullptr ? Widen<float>(bias[i]) : 0.0F));
    }
    if (at.column + s < p.conv.w.out) StoreVector(y + (at.column + s) * p.conv.y_w, out);
  }
}

}  // namespace

KernelCall DepthwiseNormCall(DType dtype, bool is_wide, const LaunchShape& shape,
                             const Parameters& p) {
  return DTypeVisitor<KernelCall, float, Half, BHalf>::Visit(dtype, [&](auto e) {
    using T = decltype(e);
    constexpr int kFull = 16 / sizeof(T);
    return is_wide ? KernelCall::Of(DepthwiseNorm<T, kFull, kWideStrip>, shape, p)
                   : KernelCall::Of(DepthwiseNorm<T, kNarrowLanes, kNarrowStrip>, shape, p);
  });
}

}  // namespace onnx_cudnn
