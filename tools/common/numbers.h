#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// Parses "8,-1" or "0.5" as the tensor for input `info`, row-major.
//   dims    the known ones, -1 for unknown ones: one unknown dim follows from the count
//   errors  InvalidArgument: not a number, a number that the type cannot represent, or a count that
//           contradicts the dims. Unimplemented: a dtype without C++ type
absl::StatusOr<HostTensor> NumbersToTensor(std::string_view text, const ValueInfo& info, Dims dims);

}  // namespace onnx_cudnn
