#include "runtime/cuda/library_calls.h"

#include <dlfcn.h>
#include <glob.h>

#include <atomic>

namespace onnx_cudnn {
namespace {

std::vector<std::string> Glob(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

std::string FileOf(void* function) {
  Dl_info info = {};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

constexpr LibraryCalls kSystem = {
    .dlopen = [](const char* name, int flags) { return dlopen(name, flags); },
    .dlsym = [](void* library, const char* name) { return dlsym(library, name); },
    .dlerror = []() -> const char* { return dlerror(); },
    .glob = Glob,
    .file_of = FileOf,
};

std::atomic<const LibraryCalls*> current{&kSystem};

}  // namespace

const LibraryCalls& Libraries() { return *current.load(std::memory_order_acquire); }

const LibraryCalls* Exchange(const LibraryCalls* calls) { return current.exchange(calls); }

}  // namespace onnx_cudnn
