#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/graph/host_tensor.h"
#include "runtime/graph/host_value.h"

namespace onnx_cudnn {

// Reads a file that holds one TensorProto (ONNX's test_data_set: input_0.pb). External data is
// refused.
//   errors  InvalidArgument: not a tensor, or a bad one; NotFound, DataLoss: the file. Messages
//           start with the path
absl::StatusOr<HostTensor> LoadTensorFile(const std::string& path);

// Reads a file that holds one TensorProto, SequenceProto, OptionalProto or MapProto, whichever is
// the proto of `kind`. Errors as above.
absl::StatusOr<HostValue> LoadValueFile(const std::string& path, Type::Kind kind);

}  // namespace onnx_cudnn
