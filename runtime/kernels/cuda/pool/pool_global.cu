// Pooling over all pixels of an image's channel. Sums use fixed trees, so repeated runs are equal.
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/pool/pool_lanes.cuh"

namespace onnx_cudnn {
namespace {

using Parameters = GlobalPoolParameters;

// The sum or maximum of one channel, in f32 (f64 for f64).
template <PoolKind kKind, typename T>
struct Gathered {
  using Sum = PoolSum<T>;
  Sum value;

  static __device__ __forceinline__ Gathered Start() {
    if constexpr (kKind == PoolKind::kMax) return {Lowest<Sum>()};
    return {Sum{0}};
  }
  __device__ __forceinline__ void Add(T element, float p) {
    const Sum x = Widen<Sum>(element);
    if constexpr (kKind == PoolKind::kMax) {
      value = Larger(value, x);
    } else if constexpr (kKind == PoolKind::kAverage) {
      value += x;
    } else {
      const Sum magnitude = fabs(x);
      value += p == 1   ? magnitude
               : p == 2 ? magnitude * magnitude
                        : pow(magnitude, static_cast<Sum>(p));
    }
  }
  __device__ __forceinline__ void Merge(Gathered other) {
    value = kKind == PoolKind::kMax ? Larger(value, other.value) : value + other.value;
  }
  __device__ __forceinline__ T Finish(int64_t pixels, float p) const {
    if constexpr (kKind == PoolKind::kMax) return Narrow<T>(value);
    if constexpr (kKind == PoolKind::kAverage) return Narrow<T>(value / static_cast<Sum>(pixels));
    return Narrow<T>(p == 1   ? value
                     : p == 2 ? sqrt(value)
                              : pow(value, Sum{1} / static_cast<Sum>(p)));
  }
};

// Element i of [outer, lanes], for this split.
template <PoolKind kKind, typename T>
__device__ __forceinline__ void Write(const Parameters& p, int split, int64_t i,
                                      Gathered<kKind, T> gathered, bool padding) {
  if (p.splits > 1) {
    static_cast<PoolSum<T>*>(p.partial)[split * p.outer * p.lanes + i] = gathered.value;
  } else {
    static_cast<T*>(p.y)[i] = padding ? T{} : gathered.Finish(p.pixels, p.p);
  }
}

// Thread {column, row} of the block processes the column's vector of every rows-th pixel.
template <PoolKind kKind, typename T, int kLanes>
__global__ void __launch_bounds__(kGlobalPoolThreads)
    GlobalPoolChannels(const __grid_constant__ Parameters p) {
  using State = Gathered<kKind, T>;
  constexpr int kUnroll = 8;
  __shared__ State gathered[kLanes][kGlobalPoolThreads];
  WaitForLaunchBefore();
  const int column = threadIdx.x % p.strip, row = threadIdx.x / p.strip;
  const int rows = kGlobalPoolThreads / p.strip;
  const int64_t channel = (static_cast<int64_t>(blockIdx.x) * p.strip + column) * kLanes;
  const int64_t begin = blockIdx.z * p.share;
  const int64_t end = begin + p.share < p.pixels ? begin + p.share : p.pixels;
  State own[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) own[i] = State::Start();
  if (channel < p.lanes) {
    const T* x = static_cast<const T*>(p.x) + blockIdx.y * p.pixels * p.lanes + channel;
    for (int64_t pixel = begin + row; pixel < end; pixel += kUnroll * rows) {
      Vector<T, kLanes> read[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (pixel + u * rows < end) read[u] = LoadVector<kLanes>(x + (pixel + u * rows) * p.lanes);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (pixel + u * rows >= end) break;
#pragma unroll
        for (int i = 0; i < kLanes; ++i) own[i].Add(read[u][i], p.p);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kLanes; ++i) gathered[i][threadIdx.x] = own[i];
  for (int half = rows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row >= half) continue;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      gathered[i][threadIdx.x].Merge(gathered[i][threadIdx.x + half * p.strip]);
    }
  }
  if (row > 0 || channel >= p.lanes) return;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    Write(p, blockIdx.z, blockIdx.y * p.lanes + channel + i, gathered[i][threadIdx.x],
          channel + i >= p.channels);
  }
}

// Merges the states of `count` adjacent threads of a warp, a power of two, in the first one.
template <typename State>
__device__ __forceinline__ State MergeNeighbours(State state, int count) {
  for (int step = count / 2; step > 0; step /= 2) {
    state.Merge({__shfl_down_sync(~0U, state.value, step, count)});
  }
  return state;
}

template <PoolKind kKind, typename T, int kLanes>
__global__ void __launch_bounds__(kGlobalPoolThreads)
    GlobalPoolPlane(const __grid_constant__ Parameters p) {
  using State = Gathered<kKind, T>;
  constexpr int kUnroll = 4, kWarps = kGlobalPoolThreads / 32;
  __shared__ State warps[kWarps];
  WaitForLaunchBefore();
  const int64_t begin = blockIdx.y * p.share;
  const int64_t end = begin + p.share < p.pixels ? begin + p.share : p.pixels;
  const T* x = static_cast<const T*>(p.x) + blockIdx.x * p.pixels;
  State own = State::Start();
  constexpr int kStep = kGlobalPoolThreads * kLanes;
  for (int64_t i = begin + threadIdx.x * kLanes; i < end; i += kUnroll * kStep) {
    Vector<T, kLanes> read[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (i + u * kStep < end) read[u] = LoadVector<kLanes>(x + i + u * kStep);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (i + u * kStep >= end) break;
#pragma unroll
      for (int j = 0; j < kLanes; ++j) own.Add(read[u][j], p.p);
    }
  }
  own = MergeNeighbours(own, 32);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  own = MergeNeighbours(threadIdx.x < kWarps ? warps[threadIdx.x] : State::Start(), kWarps);
  if (threadIdx.x == 0) Write(p, blockIdx.y, blockIdx.x, own, false);
}

// Single planes need not be aligned, but groups of eight are; all available threads share the sum
// of each.
template <PoolKind kKind, typename T>
__global__ void __launch_bounds__(kSmallPlanesThreads)
    GlobalPoolSmall(const __grid_constant__ Parameters p) {
  using State = Gathered<kKind, T>;
  extern __shared__ __align__(16) unsigned char shared[];
  T* tile = reinterpret_cast<T*>(shared);
  WaitForLaunchBefore();
  const int64_t first = static_cast<int64_t>(blockIdx.x) * p.planes;
  const int planes = static_cast<int>(p.outer - first < p.planes ? p.outer - first : p.planes);
  const int pixels = static_cast<int>(p.pixels), elements = planes * pixels;
  const T* x = static_cast<const T*>(p.x) + first * p.pixels;
  constexpr int kLanes = kVectorBytes / sizeof(T);
  const int vectors = elements / kLanes;
#pragma unroll 4
  for (int i = threadIdx.x; i < vectors; i += kSmallPlanesThreads) {
    reinterpret_cast<uint4*>(tile)[i] = reinterpret_cast<const uint4*>(x)[i];
  }
  for (int i = vectors * kLanes + threadIdx.x; i < elements; i += kSmallPlanesThreads) {
    tile[i] = x[i];
  }
  __syncthreads();
  const int group = kSmallPlanesThreads / p.planes;
  const int plane = threadIdx.x / group, member = threadIdx.x % group;
  State own = State::Start();
  if (plane < planes) {
    for (int i = member; i < pixels; i += group) own.Add(tile[plane * pixels + i], p.p);
  }
  own = MergeNeighbours(own, group);
  if (member == 0 && plane < planes) Write(p, 0, first + plane, own, false);
}

template <PoolKind kKind, typename T>
__global__ void __launch_bounds__(kGlobalPoolThreads)
    GlobalPoolFinish(const __grid_constant__ Parameters p) {
  WaitForLaunchBefore();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kGlobalPoolThreads + threadIdx.x;
  const int64_t count = p.outer * p.lanes;
  if (i >= count) return;
  auto all = Gathered<kKind, T>::Start();
  for (int split = 0; split < p.splits; ++split) {
    all.Merge({static_cast<const PoolSum<T>*>(p.partial)[split * count + i]});
  }
  static_cast<T*>(p.y)[i] = i % p.lanes < p.channels ? all.Finish(p.pixels, p.p) : T{};
}

// Calls f with the kind as a constant and an element of the dtype.
template <typename F>
KernelCall Visit(PoolKind kind, DType dtype, F&& f) {
  return VisitFloat<KernelCall>(dtype, [&](auto e) {
    switch (kind) {
      case PoolKind::kMax:
        return f(std::integral_constant<PoolKind, PoolKind::kMax>{}, e);
      case PoolKind::kAverage:
        return f(std::integral_constant<PoolKind, PoolKind::kAverage>{}, e);
      default:
        return f(std::integral_constant<PoolKind, PoolKind::kNorm>{}, e);
    }
  });
}

// The same with the lanes of a thread as a constant: those of a vector, or one.
template <typename F>
KernelCall VisitLanes(PoolKind kind, DType dtype, int lanes, F&& f) {
  return Visit(kind, dtype, [&](auto k, auto e) {
    if (lanes > 1) return f(k, e, std::integral_constant<int, kVectorBytes / sizeof(e)>{});
    return f(k, e, std::integral_constant<int, 1>{});
  });
}

}  // namespace

KernelCall GlobalPoolChannelsCall(PoolKind kind, DType dtype, int lanes, const LaunchShape& shape,
                                  const GlobalPoolParameters& p) {
  return VisitLanes(kind, dtype, lanes, [&](auto k, auto e, auto width) {
    return KernelCall::Of(
        GlobalPoolChannels<decltype(k)::value, decltype(e), decltype(width)::value>, shape, p);
  });
}

KernelCall GlobalPoolPlaneCall(PoolKind kind, DType dtype, int lanes, const LaunchShape& shape,
                               const GlobalPoolParameters& p) {
  return VisitLanes(kind, dtype, lanes, [&](auto k, auto e, auto width) {
    return KernelCall::Of(GlobalPoolPlane<decltype(k)::value, decltype(e), decltype(width)::value>,
                          shape, p);
  });
}

KernelCall GlobalPoolSmallCall(PoolKind kind, DType dtype, const LaunchShape& shape,
                               const GlobalPoolParameters& p) {
  return Visit(kind, dtype, [&](auto k, auto e) {
    return KernelCall::Of(GlobalPoolSmall<decltype(k)::value, decltype(e)>, shape, p);
  });
}

KernelCall GlobalPoolFinishCall(PoolKind kind, DType dtype, const LaunchShape& shape,
                                const GlobalPoolParameters& p) {
  return Visit(kind, dtype, [&](auto k, auto e) {
    return KernelCall::Of(GlobalPoolFinish<decltype(k)::value, decltype(e)>, shape, p);
  });
}

}  // namespace onnx_cudnn
