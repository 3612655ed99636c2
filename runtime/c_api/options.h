#pragma once

#include "absl/status/statusor.h"
#include "onnx_cudnn.h"
#include "onnx_cudnn/options.h"

namespace onnx_cudnn::c_api {

// The C API's options as the C++ API's. InvalidArgument: a null pointer or a number out of range.
//   options  null: the defaults
absl::StatusOr<SessionOptions> SessionOptionsOf(const onnx_cudnn_session_options* options);
absl::StatusOr<RunOptions> RunOptionsOf(const onnx_cudnn_run_options* options);

}  // namespace onnx_cudnn::c_api
