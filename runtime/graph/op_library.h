#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace onnx_cudnn {

// Loads users' libraries of ops (onnx_cudnn_op.h) and registers what they define, for the rest of
// the process. A library that is loaded already is left as it is. Thread-safe.
//   paths   of files; a path without a slash is relative to the current folder
//   errors  NotFound: no such file. InvalidArgument: it cannot be loaded, does not export
//           onnx_cudnn_op_library, or defines what RegisterCustomOps refuses
absl::Status LoadOpLibraries(absl::Span<const std::string> paths);

}  // namespace onnx_cudnn
