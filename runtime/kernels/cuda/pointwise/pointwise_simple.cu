// Simple forms: operation and activation are decoded once for all lanes of a thread.
#include "runtime/kernels/cuda/pointwise/pointwise_simple.h"

#include "runtime/kernels/cuda/common/activation.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/packed.cuh"
#include "runtime/kernels/cuda/pointwise/arithmetic.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kThreads = kArithmeticThreads;
constexpr int kLanes = 16;  // per thread; all their loads are in flight together
// With fewer blocks of kLanes lanes per thread, a thread processes one vector.
constexpr int64_t kManyBlocks = 512;

__device__ __forceinline__ int64_t OffsetOf(const SimpleParameters& p, int64_t lane) {
  uint32_t rest = static_cast<uint32_t>(lane);
  int64_t offset = 0;
  for (int axis = p.axes - 1; axis >= 0; --axis) {
    offset += int64_t{p.extents[axis].Split(rest)} * p.strides[axis];
  }
  return offset;
}

template <int n, typename E>
__device__ __forceinline__ Vector<E, n> LoadBroadcast(const SimpleParameters& p, int64_t lane) {
  const E* from = static_cast<const E*>(p.b) + OffsetOf(p, lane);
  if (!p.repeats) return LoadVector<n>(from);
  const E element = *from;
  Vector<E, n> elements;
#pragma unroll
  for (int i = 0; i < n; ++i) elements[i] = element;
  return elements;
}

// Only the last block checks which of its lanes exist.
template <typename A, typename Y, SimpleOperand operand, int vectors>
__global__ void __launch_bounds__(kThreads, 5)
    RunSimple(const __grid_constant__ SimpleParameters p) {
  WaitForLaunchBefore();
  constexpr int kNarrowest = sizeof(A) < sizeof(Y) ? sizeof(A) : sizeof(Y);
  constexpr int kVector = VectorLanes(kNarrowest), kStep = kThreads * kVector;
  constexpr int kRights = operand == SimpleOperand::kNone ? 1 : vectors;
  using Loaded = Packed<A, kVector>;
  const int64_t start = int64_t{blockIdx.x} * (vectors * kStep);
  const int own = static_cast<int>(threadIdx.x) * kVector;
  const bool is_whole = p.lanes - start >= vectors * kStep;
  const int present = is_whole ? vectors * kStep : static_cast<int>(p.lanes - start) - own;
  const A* a = static_cast<const A*>(p.a) + start + own;
  const A* b = static_cast<const A*>(p.b) + start + own;
  Loaded left[vectors] = {}, right[kRights] = {};
  if (is_whole) {
#pragma unroll
    for (int k = 0; k < vectors; ++k) left[k] = Loaded(LoadVector<kVector>(a + k * kStep));
    if constexpr (operand == SimpleOperand::kFull) {
#pragma unroll
      for (int k = 0; k < vectors; ++k) right[k] = Loaded(LoadVector<kVector>(b + k * kStep));
    }
  } else {
#pragma unroll
    for (int k = 0; k < vectors; ++k) {
      if (present <= k * kStep) continue;
      left[k] = Loaded(LoadPresent<kVector>(a + k * kStep, present - k * kStep));
      if constexpr (operand == SimpleOperand::kFull) {
        right[k] = Loaded(LoadPresent<kVector>(b + k * kStep, present - k * kStep));
      }
    }
  }
  if constexpr (operand == SimpleOperand::kBroadcast) {
#pragma unroll
    for (int k = 0; k < vectors; ++k) {
      if (present <= k * kStep) continue;
      right[k] = Loaded(LoadBroadcast<kVector, A>(p, start + own + k * kStep));
    }
  }
  float x[vectors * kVector];
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
    float numbers[kVector];
    WidenAll(left[k].Elements(), numbers);
#pragma unroll
    for (int i = 0; i < kVector; ++i) x[k * kVector + i] = numbers[i];
  }
  float others[kRights][kVector];
#pragma unroll
  for (int k = 0; k < kRights; ++k) WidenAll(right[k].Elements(), others[k]);
  Combine<FloatCells<Y>>(p.join, x, [&](int i) {
    if constexpr (operand == SimpleOperand::kNone) return p.number;
    return others[kRights == 1 ? 0 : i / kVector][i % kVector];
  });
  if (p.rounds) Map(x, [](float v) { return Rounded<Y>(v); });
  Activate<Y>(p.activation, x);
  Y* y = static_cast<Y*>(p.y) + start + own;
#pragma unroll
  for (int k = 0; k < vectors; ++k) {
    float numbers[kVector];
#pragma unroll
    for (int i = 0; i < kVector; ++i) numbers[i] = x[k * kVector + i];
    const Vector<Y, kVector> result = NarrowAll<Y>(numbers);
    if (is_whole) {
      StoreVector(y + k * kStep, result);
    } else if (present > k * kStep) {
      StorePresent(y + k * kStep, result, present - k * kStep);
    }
  }
}

template <typename E, SimpleOperand operand>
KernelCall CallOf(const SimpleParameters& p) {
  constexpr int kVector = VectorLanes(sizeof(E));
  if (p.lanes < kManyBlocks * kThreads * kLanes) {
    return KernelCall::Of(RunSimple<E, E, operand, 1>, ShapeOf(p.lanes, kVector), p);
  }
  return KernelCall::Of(RunSimple<E, E, operand, kLanes / kVector>, ShapeOf(p.lanes, kLanes), p);
}

template <typename F>
KernelCall VisitSimple(DType dtype, F f) {
  return DTypeVisitor<KernelCall, Half, BHalf, float>::Visit(dtype, f);
}

}  // namespace

KernelCall SimpleCall(DType dtype, SimpleOperand operand, const SimpleParameters& parameters) {
  return VisitSimple(dtype, [&](auto element) {
    using E = decltype(element);
    switch (operand) {
      case SimpleOperand::kNone:
        return CallOf<E, SimpleOperand::kNone>(parameters);
      case SimpleOperand::kFull:
        return CallOf<E, SimpleOperand::kFull>(parameters);
      default:
        return CallOf<E, SimpleOperand::kBroadcast>(parameters);
    }
  });
}

KernelCall SimpleCast(DType from, DType to, const SimpleParameters& parameters) {
  return VisitSimple(from, [&](auto source) {
    return VisitSimple(to, [&](auto target) {
      using A = decltype(source);
      using Y = decltype(target);
      constexpr int kNarrowest = sizeof(A) < sizeof(Y) ? sizeof(A) : sizeof(Y);
      constexpr int kVector = VectorLanes(kNarrowest);
      return KernelCall::Of(RunSimple<A, Y, SimpleOperand::kNone, kLanes / kVector>,
                            ShapeOf(parameters.lanes, kLanes), parameters);
    });
  });
}

}  // namespace onnx_cudnn
