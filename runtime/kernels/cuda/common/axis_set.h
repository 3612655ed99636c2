// Several axes of a tensor as one index. Plain C++, also used on the host.
#pragma once

#include "runtime/kernels/cuda/common/fast_divide.cuh"

namespace onnx_cudnn {

// A subset of the axes of a tensor, outermost first.
struct AxisSet {
  static constexpr int kMost = 8;
  int rank = 0;
  int64_t count = 1;  // product of the dims
  FastDivide<uint64_t> dims[kMost];
  int64_t strides[kMost] = {};

  void Add(int64_t dim, int64_t stride) {
    dims[rank] = FastDivide<uint64_t>(dim);
    strides[rank++] = stride;
    count *= dim;
  }
  // Offset in elements of position `index`, 0 ≤ index < count.
  ONNX_CUDNN_BOTH int64_t OffsetOf(int64_t index) const {
    if (rank == 1) return index * strides[0];
    uint64_t rest = static_cast<uint64_t>(index);
    int64_t offset = 0;
    for (int i = rank - 1; i >= 0; --i) {
      offset += static_cast<int64_t>(dims[i].Split(rest)) * strides[i];
    }
    return offset;
  }
};

}  // namespace onnx_cudnn
