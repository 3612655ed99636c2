#include "runtime/base/host_span.h"

#include <chrono>

#include "runtime/base/nvtx.h"

namespace onnx_cudnn {
namespace {

thread_local std::vector<HostSpan>* collected = nullptr;

}  // namespace

double HostClockUs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

void CollectHostSpans(std::vector<HostSpan>* spans) { collected = spans; }

HostScope::HostScope(const char* name) : name_(name), spans_(collected) {
  PushNvtxRange(name);
  if (spans_ != nullptr) begin_us_ = HostClockUs();
}

HostScope::~HostScope() {
  if (spans_ != nullptr) spans_->push_back({name_, begin_us_, HostClockUs() - begin_us_});
  PopNvtxRange();
}

}  // namespace onnx_cudnn
