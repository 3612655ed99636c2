#pragma once

#include <string>
#include <string_view>

namespace onnx_cudnn {

// The path of a file or folder of the repository, given its path from the root. One object file
// knows where the clone lies, so that the compiler cache serves the others to every clone.
std::string SourceFile(std::string_view path);

}  // namespace onnx_cudnn
