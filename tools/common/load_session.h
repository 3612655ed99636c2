#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"

namespace onnx_cudnn {

// Loads a model for a program, which gives it tensors alone.
//   errors  those of Session::Load; Unimplemented: an input or output is no tensor
absl::StatusOr<Session> LoadSession(const std::string& model, const SessionOptions& options);

}  // namespace onnx_cudnn
