// ReduceMax and ReduceMin; the smallest element is the largest in reversed order. NaN propagates;
// bools are bytes where any but 0 is true.
#include "runtime/kernels/cuda/reduce/reduce.cuh"

namespace onnx_cudnn {
namespace {

// At least 32 bits, so that warps can exchange it.
template <typename T>
using LargestState =
    std::conditional_t<kIsFloat<T>, ComputeOf<T>, std::conditional_t<(sizeof(T) < 4), int32_t, T>>;

template <typename Element>
struct LargestOp {
  using T = Element;
  using State = LargestState<T>;

  bool smallest, is_bool;

  __device__ __forceinline__ State Turned(State x) const {
    if constexpr (kIsFloat<T>) {
      return smallest ? -x : x;
    } else {
      return smallest ? ~x : x;
    }
  }
  __device__ __forceinline__ State Start() const {
    if constexpr (kIsFloat<T>) {
      return -std::numeric_limits<State>::infinity();
    } else {
      return smallest ? ~static_cast<State>(std::numeric_limits<T>::max())
                      : static_cast<State>(std::numeric_limits<T>::lowest());
    }
  }
  __device__ __forceinline__ State Add(State best, T element) const {
    if constexpr (kIsFloat<T>) {
      return Join(best, Turned(Widen<State>(element)));
    } else {
      return Join(best, Turned(static_cast<State>(element)));
    }
  }
  __device__ __forceinline__ static State Join(State a, State b) { return b > a || b != b ? b : a; }
  __device__ __forceinline__ T Finish(State best, int64_t) const {
    if constexpr (kIsFloat<T>) {
      return Narrow<T>(Turned(best));
    } else {
      const T element = static_cast<T>(Turned(best));
      return is_bool ? static_cast<T>(element != 0) : element;
    }
  }
};

}  // namespace

ReduceCalls LargestCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y) {
  const bool is_bool = options.dtype == DType::kBool;
  using Visitor = DTypeVisitor<ReduceCalls, float, Half, BHalf, double, int32_t, uint32_t, int64_t,
                               uint64_t, int8_t, uint8_t>;
  return Visitor::Visit(is_bool ? DType::kU8 : options.dtype, [&](auto e) {
    return ReduceBy(LargestOp<decltype(e)>{options.smallest, is_bool}, lanes, x, y);
  });
}

}  // namespace onnx_cudnn
