// onnx-cudnn-opt -o NAME.ocp.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/session/compile_model.h"

namespace onnx_cudnn {

// Whether a file of this name is to be a compiled model.
bool IsCompiledName(std::string_view output);

// Compiles the file `model` for the inputs of --input and --shape. Returns lines that say what the
// file `output` has, and what not, and why.
//   request  without inputs
//   errors   those of loading, of the inputs and of CompileModel
absl::StatusOr<std::string> CompileToFile(const std::string& model, const CompileRequest& request,
                                          const std::string& output);

// Reads every part of the compiled model `path`, and returns a line that says what it is.
//   errors  InvalidArgument: it is none, or damaged; those of files
absl::StatusOr<std::string> CheckCompiled(const std::string& path);

}  // namespace onnx_cudnn
