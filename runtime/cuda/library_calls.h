// The one table of calls that find and open shared libraries.
#pragma once

#include <string>
#include <vector>

namespace onnx_cudnn {

struct LibraryCalls {
  void* (*dlopen)(const char* name, int flags);
  void* (*dlsym)(void* library, const char* name);
  const char* (*dlerror)();
  // Files that match a pattern of the shell, sorted.
  std::vector<std::string> (*glob)(const std::string& pattern);
};

// The table in use: the system's, unless a test set another.
const LibraryCalls& Libraries();

// Puts `calls` in place for the whole process while it lives; for tests. `calls` must outlive it.
class ScopedLibraryCalls {
 public:
  explicit ScopedLibraryCalls(const LibraryCalls& calls);
  ~ScopedLibraryCalls();
  ScopedLibraryCalls(const ScopedLibraryCalls&) = delete;
  ScopedLibraryCalls& operator=(const ScopedLibraryCalls&) = delete;

 private:
  const LibraryCalls* before_;
};

}  // namespace onnx_cudnn
