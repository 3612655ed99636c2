#include "runtime/kernels/cuda/reduce/sort_passes.cuh"

namespace onnx_cudnn {

std::vector<KernelCall> SortPairsCalls(Slot pairs, bool are_wide, int64_t rows, int64_t count) {
  return VisitPair(
      are_wide, [&](auto pair) { return SortCalls<decltype(pair)>(pairs, rows, count, ByPair{}); });
}

}  // namespace onnx_cudnn
