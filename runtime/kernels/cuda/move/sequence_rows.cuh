// Rows of a cache that TensorScatter updates. Plain C++, so that parameter structs in .h files can
// contain it.
#pragma once

#include "runtime/kernels/cuda/common/faults.h"

namespace onnx_cudnn {

struct SequenceRows {
  int64_t extent = 1;                   // rows of a sequence of the cache
  FastDivide<uint64_t> length;          // of an update
  FastDivide<uint64_t> outer_of_batch;  // sequences per batch
  bool is_circular = false;

  // The cache's row for row `r` of the updates, or -1 and a fault (kNumber).
  //   indices  the first row of each batch; absent: 0
  ONNX_CUDNN_BOTH int64_t TargetOf(int64_t r, const Integers& indices, uint64_t* fault) const {
    const int64_t written = static_cast<int64_t>(length.divisor);
    uint64_t outer = static_cast<uint64_t>(r);
    const int64_t i = static_cast<int64_t>(length.Split(outer));
    const int64_t batch = static_cast<int64_t>(outer_of_batch.Divide(outer));
    int64_t first = indices.at == nullptr ? 0 : indices[batch];
    if (is_circular && first >= extent) first %= extent;
    if (first < 0 || first > extent || (!is_circular && first + written > extent)) {
      *fault = FaultWord({FaultKind::kNumber, 0, first});
      return -1;
    }
    int64_t at = first + i;
    if (at >= extent) at -= extent;
    return static_cast<int64_t>(outer) * extent + at;
  }
};

}  // namespace onnx_cudnn
