#pragma once

#include <string>

#include "absl/status/status.h"

namespace onnx_cudnn {

// Call inside a catch: the current exception as an error. ResourceExhausted: host memory or
// threads; Internal: anything else.
absl::Status StatusOfException();

// For messages: ", this process may have 819200000 in all (ulimit -v)"; empty if there is no limit.
std::string LimitOfProcess();

}  // namespace onnx_cudnn
