// What the parts of a start take, over all threads of the process, for reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "runtime/base/host_span.h"
#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// All stretches of one name.
struct StartTime {
  std::string name;
  double begin_ms = 0;    // of the first one, since the process's first stretch of any name
  double end_ms = 0;      // of the last one
  double ms = 0;          // their sum, of all threads
  int64_t stretches = 0;  // that have ended
};

// In the order in which they began first.
std::vector<StartTime> StartTimes();

// A stretch that lasts as long as this lives; also a HostScope. Costs a lock at its end: for what
// happens a few times per Program.
class StartScope : NotCopyable {
 public:
  //   name  a literal
  explicit StartScope(const char* name);
  ~StartScope();

 private:
  const HostScope scope_;
  const char* const name_;
  const absl::Time start_;
};

}  // namespace onnx_cudnn
