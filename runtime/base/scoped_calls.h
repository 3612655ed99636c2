// A table of calls that a test puts in place of the one in use.
#pragma once

#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// Replaces the table of the whole process while it lives; for tests. `calls` must outlive it.
//   kExchange  puts a table in use and returns the one before
template <typename Calls, const Calls* (*kExchange)(const Calls*)>
class ScopedCalls : NotCopyable {
 public:
  explicit ScopedCalls(const Calls& calls) : before_(kExchange(&calls)) {}
  ~ScopedCalls() { kExchange(before_); }

 private:
  const Calls* const before_;
};

}  // namespace onnx_cudnn
