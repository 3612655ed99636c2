#pragma once

#include <cerrno>

#include "runtime/base/calls.h"

namespace onnx_cudnn {

// While it lives, file calls are counted and one of them fails with `error`; a failing close or
// munmap still releases, as the system's does. One at a time.
class FailingCalls {
 public:
  // fail_at  index of the call that fails, from 0; negative: none
  explicit FailingCalls(int fail_at, int error = EIO);

  int count() const;  // calls so far
  int open() const;   // descriptors and mappings that are not released

 private:
  ScopedFileCalls scope_;
};

}  // namespace onnx_cudnn
