// The only table of calls that find and open shared libraries.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/scoped_calls.h"

namespace onnx_cudnn {

struct LibraryCalls {
  void* (*dlopen)(const char* name, int flags);
  void* (*dlsym)(void* library, const char* name);
  const char* (*dlerror)();
  // Files that match a shell pattern, sorted.
  std::vector<std::string> (*glob)(const std::string& pattern);
  // The file of the library that holds this function; empty: unknown.
  std::string (*file_of)(void* function);
};

// The table in use: the system's, unless a test replaced it.
const LibraryCalls& Libraries();

// Puts `calls` in use and returns the table before it.
const LibraryCalls* Exchange(const LibraryCalls* calls);
using ScopedLibraryCalls = ScopedCalls<LibraryCalls, Exchange>;

}  // namespace onnx_cudnn
