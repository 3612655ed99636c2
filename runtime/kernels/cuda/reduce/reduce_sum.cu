// ReduceSum, ReduceMean, ReduceL1, ReduceSumSquare, ReduceLogSum; ReduceL2 of f16 and f64.
#include "runtime/kernels/cuda/reduce/reduce_sum.cuh"

namespace onnx_cudnn {
namespace {

template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<ComputeOf<T>>, ComputeOf<T>,
                                 std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;

}  // namespace

ReduceCalls SumCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y) {
  using Visitor =
      DTypeVisitor<ReduceCalls, float, Half, BHalf, double, int32_t, uint32_t, int64_t, uint64_t>;
  return Visitor::Visit(options.dtype, [&](auto e) {
    using T = decltype(e);
    const SumOp<T, SumOf<T>> op{options.prepare, options.finish};
    return ReduceBy(op, lanes, x, y);
  });
}

}  // namespace onnx_cudnn
