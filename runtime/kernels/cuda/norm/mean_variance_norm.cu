// MeanVarianceNormalization over any axes: (x - mean) / (deviation + epsilon), in f32, f64 for f64.
// Each element is read three times. If contiguous elements share their statistics, a block computes
// each statistic, otherwise a thread, so that adjacent threads read adjacent elements.
#include "runtime/kernels/cuda/norm/mean_variance_norm.h"

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/rows.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kBlock = 256;

struct MeanVarianceNormParameters {
  const void* x;
  void* y;
  AxisSet kept, reduced;
  bool by_thread;
  double epsilon;
};

template <typename T>
__global__ void __launch_bounds__(kBlock) MeanVarianceNorm(MeanVarianceNormParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<T>;
  __shared__ C scratch[2][kMostWarps];
  const int64_t thread = threadIdx.x;
  const int64_t index = p.by_thread ? int64_t{blockIdx.x} * kBlock + thread : int64_t{blockIdx.x};
  if (index >= p.kept.count) return;  // only if by_thread: a block has one index
  const int64_t first = p.by_thread ? 0 : thread, step = p.by_thread ? 1 : kBlock;
  const int threads = p.by_thread ? 1 : kBlock;
  const C n = static_cast<C>(p.reduced.count);
  const T* x = static_cast<const T*>(p.x) + p.kept.OffsetOf(index);
  T* y = static_cast<T*>(p.y) + p.kept.OffsetOf(index);
  C mean = 0, squares = 0;
  for (int64_t i = first; i < p.reduced.count; i += step) {
    mean += Widen<C>(x[p.reduced.OffsetOf(i)]);
  }
  mean = JoinRow(mean, threads, scratch[0], Sum()) / n;
  for (int64_t i = first; i < p.reduced.count; i += step) {
    const C distance = Widen<C>(x[p.reduced.OffsetOf(i)]) - mean;
    squares += distance * distance;
  }
  squares = JoinRow(squares, threads, scratch[1], Sum());
  const C deviation = sqrt(squares / n) + static_cast<C>(p.epsilon);
  for (int64_t i = first; i < p.reduced.count; i += step) {
    const int64_t at = p.reduced.OffsetOf(i);
    y[at] = Narrow<T>((Widen<C>(x[at]) - mean) / deviation);
  }
}

int64_t LeastStride(const AxisSet& axes) {
  return axes.rank == 0 ? INT64_MAX : axes.strides[axes.rank - 1];
}

}  // namespace

KernelCall MeanVarianceNormCall(DType dtype, const AxisSet& kept, const AxisSet& reduced,
                                double epsilon, Slot x, Slot y) {
  const MeanVarianceNormParameters p{.kept = kept,
                                     .reduced = reduced,
                                     .by_thread = LeastStride(kept) < LeastStride(reduced),
                                     .epsilon = epsilon};
  const int64_t blocks = p.by_thread ? (kept.count + kBlock - 1) / kBlock : kept.count;
  const LaunchShape shape{.grid = {static_cast<unsigned>(blocks)}, .block = {kBlock}};
  return VisitFloat<KernelCall>(
             dtype, [&](auto e) { return KernelCall::Of(MeanVarianceNorm<decltype(e)>, shape, p); })
      .Bind(offsetof(MeanVarianceNormParameters, x), x)
      .Bind(offsetof(MeanVarianceNormParameters, y), y);
}

}  // namespace onnx_cudnn
