// Sums of elements, of their magnitudes or of their squares, and the final function.
#pragma once

#include "runtime/kernels/cuda/reduce/reduce.cuh"

namespace onnx_cudnn {

// Sums in type C: float, double, or an unsigned integer, which wraps.
template <typename Element, typename C>
struct SumOp {
  using T = Element;
  using State = C;

  ReducePrepare prepare;
  ReduceFinish finish;

  __device__ __forceinline__ C Start() const { return 0; }
  __device__ __forceinline__ C Add(C sum, T element) const {
    C x;
    if constexpr (std::is_integral_v<T>) {
      x = static_cast<C>(element);
    } else {
      x = Widen<C>(element);
    }
    if (prepare == ReducePrepare::kMagnitude && IsNegative(element)) x = C{0} - x;
    return sum + x * (prepare == ReducePrepare::kSquare ? x : C{1});
  }
  __device__ __forceinline__ static C Join(C a, C b) { return a + b; }
  __device__ __forceinline__ T Finish(C sum, int64_t n) const {
    if constexpr (std::is_integral_v<C>) {
      if (finish != ReduceFinish::kMean) return static_cast<T>(sum);
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return static_cast<T>(static_cast<Wide>(static_cast<T>(sum)) / static_cast<Wide>(n));
    } else {
      if (finish == ReduceFinish::kMean) sum /= static_cast<C>(n);
      if (finish == ReduceFinish::kRoot) sum = sqrt(sum);
      if (finish == ReduceFinish::kLogarithm) sum = log(sum);
      return Narrow<T>(sum);
    }
  }

 private:
  __device__ __forceinline__ static bool IsNegative(T element) {
    if constexpr (std::is_unsigned_v<T>) {
      return false;
    } else if constexpr (std::is_integral_v<T>) {
      return element < 0;
    } else {
      return Widen<ComputeOf<T>>(element) < 0;
    }
  }
};

}  // namespace onnx_cudnn
