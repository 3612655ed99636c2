// Opens NVIDIA's libraries at run time, so that one program runs on hosts with and without them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

struct LibraryNeed {
  std::string name;                // "cuDNN 9"
  std::vector<std::string> files;  // "libcudnn.so.9": any of them, the best first
  std::string variable;            // of the environment: a file to take instead of searching
  std::string install;             // what to do when there is none
};

const LibraryNeed& CudnnLibrary();
const LibraryNeed& CublasLtLibrary();
const LibraryNeed& NvrtcLibrary();  // some of cuDNN's engines open it by its name

struct FoundLibrary {
  void* handle = nullptr;  // never closed
  std::string path;        // or the name that the system's loader took
};

// Searches, in this order: the file that the variable names, and nothing else then; the system's
// loader; beside this program (../lib, ../cuda-toolkit/lib, ../cudnn/lib); $CUDA_PATH, $CUDA_HOME
// and /usr/local/cuda*; nvidia/*/lib of Python environments ($VIRTUAL_ENV, $CONDA_PREFIX, the
// user's, the system's).
//   errors  FailedPrecondition, one line: what was found, what is needed, what to install
absl::StatusOr<FoundLibrary> FindLibrary(const LibraryNeed& need);

// FindLibrary once per process and `need.name`: later calls get the same answer.
absl::StatusOr<FoundLibrary> OpenLibrary(const LibraryNeed& need);

// The function `name` of it. FailedPrecondition: the library has none, it is another version.
absl::StatusOr<void*> FindFunction(const FoundLibrary& library, const std::string& name);

}  // namespace onnx_cudnn
