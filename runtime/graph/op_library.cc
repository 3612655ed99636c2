#include "runtime/graph/op_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/graph/custom_op.h"

namespace onnx_cudnn {
namespace {

using Entry = decltype(&onnx_cudnn_op_library);
constexpr char kEntryName[] = "onnx_cudnn_op_library";

struct LoadedLibraries {
  absl::Mutex mutex;
  std::set<void*> handles ABSL_GUARDED_BY(mutex);
};
LoadedLibraries& TheLibraries() {
  static LoadedLibraries& libraries = *new LoadedLibraries;
  return libraries;
}

absl::Status RegisterOpsOf(void* handle, const std::string& path) {
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, kEntryName));
  if (entry == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it does not export ", kEntryName, ", which a library of ops has (onnx_cudnn_op.h)"));
  }
  onnx_cudnn_op_registry registry{.library = path};
  const int32_t answer = entry(&CustomOpHost(), &registry);
  RETURN_IF_ERROR(registry.status);
  if (answer != 0) {
    return absl::InvalidArgumentError(absl::StrCat(kEntryName, " returned ", answer));
  }
  return RegisterCustomOps(std::move(registry.ops));
}

// Never unloaded: ops that are registered live as long as the process.
absl::Status LoadOpLibrary(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return absl::NotFoundError("no such file");
  const std::string file = absl::StrCat(path.find('/') == std::string::npos ? "./" : "", path);
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::InvalidArgumentError(dlerror());
  LoadedLibraries& libraries = TheLibraries();
  absl::MutexLock lock(libraries.mutex);
  if (libraries.handles.contains(handle)) return absl::OkStatus();
  RETURN_IF_ERROR(RegisterOpsOf(handle, path));
  libraries.handles.insert(handle);
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadOpLibraries(absl::Span<const std::string> paths) {
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(Annotate(LoadOpLibrary(path), absl::StrCat("op library ", path)));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
