#pragma once

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/common/kernel_call.h"

namespace onnx_cudnn {

// The CUtensorMap of an operand at `address`, by the driver's cuTensorMapEncodeTiled, or
// cuTensorMapEncodeIm2col where the map has places.
//   errors  FailedPrecondition: the driver has none; Internal: it takes no such map
absl::StatusOr<TensorMapBytes> EncodeTensorMap(const TensorMap& map, void* address);

}  // namespace onnx_cudnn
