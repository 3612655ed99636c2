// ReduceProd, and ReduceLogSumExp as the largest element plus the logarithm of the sum of
// exponentials relative to it, updated together.
#include "runtime/kernels/cuda/reduce/reduce.cuh"

namespace onnx_cudnn {
namespace {

// Floats in f32 (f64 for f64); integers unsigned, so that they wrap.
template <typename T>
using ProductState = std::conditional_t<kIsFloat<T>, ComputeOf<T>,
                                        std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;

template <typename Element>
struct ProductOp {
  using T = Element;
  using State = ProductState<T>;

  __device__ __forceinline__ State Start() const { return 1; }
  __device__ __forceinline__ State Add(State product, T element) const {
    if constexpr (kIsFloat<T>) {
      return product * Widen<State>(element);
    } else {
      return product * static_cast<State>(element);
    }
  }
  __device__ __forceinline__ static State Join(State a, State b) { return a * b; }
  __device__ __forceinline__ T Finish(State product, int64_t) const {
    if constexpr (kIsFloat<T>) {
      return Narrow<T>(product);
    } else {
      return static_cast<T>(product);
    }
  }
};

template <typename Element>
struct LogSumExpOp {
  using T = Element;
  using C = ComputeOf<T>;
  struct State {
    C max, sum;
  };

  __device__ __forceinline__ State Start() const {
    return {-std::numeric_limits<C>::infinity(), 0};
  }
  __device__ __forceinline__ State Add(State s, T element) const {
    return Join(s, {Widen<C>(element), 1});
  }
  __device__ __forceinline__ static State Join(const State& a, const State& b) {
    if (a.max != a.max || b.max != b.max) return {std::numeric_limits<C>::quiet_NaN(), 1};
    const bool a_is_low = a.max < b.max;
    const State low = a_is_low ? a : b, high = a_is_low ? b : a;
    if (isinf(high.max)) return high;  // -inf adds nothing; with +inf nothing else matters
    return {high.max, high.sum + low.sum * exp(low.max - high.max)};
  }
  __device__ __forceinline__ T Finish(const State& s, int64_t) const {
    return Narrow<T>(isinf(s.max) ? s.max : s.max + log(s.sum));
  }
};

}  // namespace

ReduceCalls ProductCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y) {
  using Visitor =
      DTypeVisitor<ReduceCalls, float, Half, BHalf, double, int32_t, uint32_t, int64_t, uint64_t>;
  return Visitor::Visit(options.dtype,
                        [&](auto e) { return ReduceBy(ProductOp<decltype(e)>{}, lanes, x, y); });
}

ReduceCalls LogSumExpCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y) {
  return VisitFloat<ReduceCalls>(
      options.dtype, [&](auto e) { return ReduceBy(LogSumExpOp<decltype(e)>{}, lanes, x, y); });
}

}  // namespace onnx_cudnn
