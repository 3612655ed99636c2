#pragma once

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// The CUtensorMap of an operand at `address`, encoded by the driver's cuTensorMapEncodeTiled or, if
// map.im2col is set, cuTensorMapEncodeIm2col.
//   errors  FailedPrecondition: the driver lacks the function; Internal: it rejects the map
absl::StatusOr<TensorMapBytes> EncodeTensorMap(const TensorMap& map, void* address);

}  // namespace onnx_cudnn
