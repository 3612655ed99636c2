// ReduceL2 of types whose squares need f64; summed in f64 as in the reference.
#include "runtime/kernels/cuda/reduce/reduce_sum.cuh"

namespace onnx_cudnn {

ReduceCalls WideSumCalls(const ReduceLanes& lanes, const ReduceOptions& options, Slot x, Slot y) {
  using Visitor = DTypeVisitor<ReduceCalls, float, BHalf, int32_t, uint32_t, int64_t, uint64_t>;
  return Visitor::Visit(options.dtype, [&](auto e) {
    return ReduceBy(SumOp<decltype(e), double>{options.prepare, options.finish}, lanes, x, y);
  });
}

}  // namespace onnx_cudnn
