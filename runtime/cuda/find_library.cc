#include "runtime/cuda/find_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/own_folder.h"
#include "runtime/cuda/library_calls.h"

namespace onnx_cudnn {
namespace {

// The library's symbols stay local; its own dependencies are searched among loaded libraries.
constexpr int kFlags = RTLD_NOW | RTLD_LOCAL;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Patterns of directories.
std::vector<std::string> Places() {
  std::vector<std::string> places;
  if (const std::string folder = ProgramFolder(); !folder.empty()) {
    for (const char* part : {"/../lib", "/../cuda-toolkit/lib", "/../cudnn/lib"}) {
      places.emplace_back(folder + part);
    }
  }
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const std::string root = Variable(name); !root.empty())
      places.emplace_back(root + "/lib64");
  }
  places.emplace_back("/usr/local/cuda*/lib64");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string root = Variable(name);
    if (!root.empty()) places.push_back(root + "/lib/python3*/site-packages/nvidia/*/lib");
  }
  if (const std::string home = Variable("HOME"); !home.empty()) {
    places.push_back(home + "/.local/lib/python3*/site-packages/nvidia/*/lib");
  }
  for (const char* root : {"/usr/local/lib", "/usr/lib"}) {
    for (const char* packages : {"dist-packages", "site-packages"}) {
      places.push_back(absl::StrCat(root, "/python3*/", packages, "/nvidia/*/lib"));
    }
  }
  return places;
}

std::string LoaderError() {
  const char* words = Libraries().dlerror();
  return words == nullptr ? "no reason given" : words;
}

absl::Status Missing(const LibraryNeed& need, std::string_view found) {
  return absl::FailedPreconditionError(
      absl::StrCat("needs ", need.name, " (", absl::StrJoin(need.files, " or "), "): ", found, "; ",
                   "install it (", need.install, "), or set ", need.variable, " to the file"));
}

// Opens the files that match `pattern` in the folder of `library`, so that it finds them.
void OpenBeside(std::string_view library, std::string_view pattern) {
  if (pattern.empty()) return;
  const std::string_view folder = library.substr(0, library.rfind('/'));
  for (const std::string& path : Libraries().glob(absl::StrCat(folder, "/", pattern))) {
    if (Libraries().dlopen(path.c_str(), kFlags) == nullptr) Libraries().dlerror();
  }
}

// The first library of `need` in the directories that match `place` and that opens; no handle if
// there is none. `unusable` is the loader's reason for the first that does not open.
FoundLibrary OpenIn(const std::string& place, const LibraryNeed& need, std::string& unusable) {
  const LibraryCalls& calls = Libraries();
  for (const std::string& file : need.files) {
    for (const std::string& path : calls.glob(absl::StrCat(place, "/", file))) {
      if (void* handle = calls.dlopen(path.c_str(), kFlags)) {
        OpenBeside(path, need.opens);
        return {handle, path};
      }
      if (unusable.empty()) unusable = LoaderError();
    }
  }
  return {};
}

}  // namespace

const LibraryNeed& CudnnLibrary() {
  static const LibraryNeed& need =
      *new LibraryNeed{.name = "cuDNN 9",
                       .files = {"libcudnn.so.9"},
                       .variable = "ONNX_CUDNN_LIBCUDNN",
                       .install = "pip install nvidia-cudnn-cu13",
                       .package = "libcudnn9-cuda-13",
                       // Device properties, with which tests lower without a GPU.
                       .least_version = 90800};
  return need;
}

const LibraryNeed& CublasLtLibrary() {
  static const LibraryNeed& need =
      *new LibraryNeed{.name = "cuBLASLt 12 or 13",
                       .files = {"libcublasLt.so.13", "libcublasLt.so.12"},
                       .variable = "ONNX_CUDNN_LIBCUBLASLT",
                       .install = "pip install nvidia-cublas",
                       .package = "libcublas-13-0"};
  return need;
}

const LibraryNeed& NvrtcLibrary() {
  static const LibraryNeed& need = *new LibraryNeed{.name = "NVRTC 12 or 13",
                                                    .files = {"libnvrtc.so.13", "libnvrtc.so.12"},
                                                    .variable = "ONNX_CUDNN_LIBNVRTC",
                                                    .install = "pip install nvidia-cuda-nvrtc",
                                                    .package = "cuda-nvrtc-13-0",
                                                    .opens = "libnvrtc-builtins.so.*"};
  return need;
}

absl::StatusOr<FoundLibrary> FindLibrary(const LibraryNeed& need) {
  const LibraryCalls& calls = Libraries();
  if (const std::string file = Variable(need.variable.c_str()); !file.empty()) {
    if (void* handle = calls.dlopen(file.c_str(), kFlags)) return FoundLibrary{handle, file};
    return Missing(need, absl::StrCat(need.variable, " does not open: ", LoaderError()));
  }
  std::string unusable;
  // In a Python package: the packages that torch loads from, because a process can have one
  // version.
  if (FoundLibrary found = OpenIn(LibraryFolder() + "/../nvidia/*/lib", need, unusable);
      found.handle != nullptr) {
    return found;
  }
  for (const std::string& file : need.files) {
    if (void* handle = calls.dlopen(file.c_str(), kFlags)) return FoundLibrary{handle, file};
    calls.dlerror();  // clears the message, because the search continues
  }
  for (const std::string& place : Places()) {
    FoundLibrary found = OpenIn(place, need, unusable);
    if (found.handle != nullptr) return found;
  }
  if (!unusable.empty()) return Missing(need, absl::StrCat("found but not usable: ", unusable));
  return Missing(need,
                 "found none in the system's, CUDA's and Python environments' library folders");
}

absl::StatusOr<FoundLibrary> OpenLibrary(const LibraryNeed& need) {
  struct Opened {
    absl::Mutex mutex;
    std::map<std::string, absl::StatusOr<FoundLibrary>> by_name ABSL_GUARDED_BY(mutex);
  };
  static Opened& opened = *new Opened;
  absl::MutexLock lock(opened.mutex);
  auto it = opened.by_name.find(need.name);
  if (it == opened.by_name.end()) {
    it = opened.by_name.emplace(need.name, FindLibrary(need)).first;
  }
  return it->second;
}

absl::StatusOr<void*> FindFunction(const FoundLibrary& library, const std::string& name) {
  if (void* function = Libraries().dlsym(library.handle, name.c_str())) return function;
  return absl::FailedPreconditionError(
      absl::StrCat(library.path, " has no function ", name, ": it is another version"));
}

}  // namespace onnx_cudnn
