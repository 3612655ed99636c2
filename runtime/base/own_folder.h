// Where this code is installed, to find what is installed beside it.
#pragma once

#include <string>

namespace onnx_cudnn {

// The directory of the running program, with links resolved; empty if the system does not tell.
std::string ProgramFolder();

// The directory of the shared library that contains this code, with links resolved; that of the
// program if the program contains it. Empty if the system does not tell.
std::string LibraryFolder();

}  // namespace onnx_cudnn
