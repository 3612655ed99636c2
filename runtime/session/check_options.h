#pragma once

#include "absl/status/status.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

// InvalidArgument: a number out of range, or a value that is not an enumerator.
absl::Status CheckOptions(const SessionOptions& options);

// `options` with kAuto and 0 replaced by their meaning on a GPU or the CPU device.
SessionOptions ResolveOptions(SessionOptions options, bool on_gpu);

// The type in which f32 products are computed.
DType ProductType(PrecisionChoice precision);

}  // namespace onnx_cudnn
