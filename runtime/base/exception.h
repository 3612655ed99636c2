#pragma once

#include <string>

#include "absl/status/status.h"

namespace onnx_cudnn {

// Inside of a catch: the exception at hand as an error. ResourceExhausted: host memory or threads;
// all others are Internal.
absl::Status StatusOfException();

// For messages: ", this process may have 819200000 in all (ulimit -v)"; empty: no limit is set.
std::string LimitOfProcess();

}  // namespace onnx_cudnn
