#pragma once

#include <cerrno>

#include "runtime/base/calls.h"

namespace onnx_cudnn {

// While it lives, file calls are counted and one of them fails with `error`; a failing close or
// munmap releases all the same, as the system's do. One at a time.
class FailingCalls {
 public:
  // fail_at  which call fails, from 0; none when negative
  explicit FailingCalls(int fail_at, int error = EIO);

  int count() const;  // calls until now
  int open() const;   // descriptors and mappings that were made and not released

 private:
  ScopedFileCalls scope_;
};

}  // namespace onnx_cudnn
