// Opens NVIDIA's libraries at run time, so that one program runs on hosts with and without them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

struct LibraryNeed {
  std::string name;                // "cuDNN 9"
  std::vector<std::string> files;  // "libcudnn.so.9": any of them, the preferred one first
  std::string variable;      // environment variable that names a file to load instead of searching
  std::string install;       // the command that brings it
  std::string package;       // the same in NVIDIA's package repository for Debian and Ubuntu
  size_t least_version = 0;  // as the library tells it, 90800 for 9.8.0; 0: any
  // Pattern of files in its folder that it opens by name, which the system's loader may not find;
  // empty: none.
  std::string opens = "";
};

const LibraryNeed& CudnnLibrary();
const LibraryNeed& CublasLtLibrary();
const LibraryNeed& NvrtcLibrary();  // opened by name by some of cuDNN's engines

struct FoundLibrary {
  void* handle = nullptr;  // never closed
  std::string path;        // or the name under which the system's loader found it
};

// Searches in this order: the file that the environment variable names (if it is set, nothing else
// is searched); ../nvidia/*/lib beside the library that contains this code, which in a Python
// package are NVIDIA's packages of the same environment; the system's loader; beside this program
// (../lib, ../cuda-toolkit/lib, ../cudnn/lib); $CUDA_PATH, $CUDA_HOME and /usr/local/cuda*;
// nvidia/*/lib of Python environments ($VIRTUAL_ENV, $CONDA_PREFIX, the user's, the system's).
//   errors  FailedPrecondition, one line: what was found, what is needed, what to install
absl::StatusOr<FoundLibrary> FindLibrary(const LibraryNeed& need);

// FindLibrary once per process and `need.name`; later calls return the same result.
absl::StatusOr<FoundLibrary> OpenLibrary(const LibraryNeed& need);

// The function `name` of the library. FailedPrecondition: the library lacks it, so it is another
// version.
absl::StatusOr<void*> FindFunction(const FoundLibrary& library, const std::string& name);
// The same as a pointer to a function of its type, `to`.
template <typename F>
absl::Status FindFunction(const FoundLibrary& library, const std::string& name, F*& to) {
  ASSIGN_OR_RETURN(void* const found, FindFunction(library, name));
  to = reinterpret_cast<F*>(found);
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
