#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// The tensor for input `info` that "8,-1" or "0.5" gives, row-major.
//   dims    those that are said, -1 where nothing says a number: one such follows from the count
//   errors  InvalidArgument: no number or one that the type does not hold, another count than the
//           dims take. Unimplemented: a dtype that has no C++ type
absl::StatusOr<HostTensor> NumbersToTensor(std::string_view text, const ValueInfo& info, Dims dims);

}  // namespace onnx_cudnn
