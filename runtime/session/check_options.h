#pragma once

#include "absl/status/status.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

// InvalidArgument: a number out of its range, or one that is no enumerator.
absl::Status CheckOptions(const SessionOptions& options);

// `options` with what kAuto and 0 stand for on a GPU or the CPU device.
SessionOptions ResolveOptions(SessionOptions options, bool on_gpu);

}  // namespace onnx_cudnn
