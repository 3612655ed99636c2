// A table of calls that a test puts in place of the one in use.
#pragma once

namespace onnx_cudnn {

// Replaces the table of the whole process while it lives; for tests. `calls` must outlive it.
//   kExchange  puts a table in use and returns the one before
template <typename Calls, const Calls* (*kExchange)(const Calls*)>
class ScopedCalls {
 public:
  explicit ScopedCalls(const Calls& calls) : before_(kExchange(&calls)) {}
  ~ScopedCalls() { kExchange(before_); }
  ScopedCalls(const ScopedCalls&) = delete;
  ScopedCalls& operator=(const ScopedCalls&) = delete;

 private:
  const Calls* const before_;
};

}  // namespace onnx_cudnn
