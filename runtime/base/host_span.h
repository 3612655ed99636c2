// Named stretches of a thread's work, for profiles.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/not_copyable.h"

namespace onnx_cudnn {

// Microseconds of the host's steady clock.
double HostClockUs();

struct HostSpan {
  std::string name;
  double begin_us = 0;  // by HostClockUs
  double us = 0;
};

// From now on the HostScopes of this thread add to `spans` when they end, those within others
// first; nullptr: to none.
void CollectHostSpans(std::vector<HostSpan>* spans);

// A stretch that lasts as long as this lives: an NVTX range, and a HostSpan where they are
// collected.
class HostScope : NotCopyable {
 public:
  //   name  must outlive this
  explicit HostScope(const char* name);
  ~HostScope();

 private:
  const char* const name_;
  std::vector<HostSpan>* const spans_;
  double begin_us_ = 0;
};

}  // namespace onnx_cudnn
