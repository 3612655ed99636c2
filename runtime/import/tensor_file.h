#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// Reads a file that holds one TensorProto (ONNX's test_data_set: input_0.pb). External data is
// refused.
//   errors  InvalidArgument: not a tensor, or a bad one; NotFound, DataLoss: the file. Messages
//           start with the path
absl::StatusOr<HostTensor> LoadTensorFile(const std::string& path);

}  // namespace onnx_cudnn
