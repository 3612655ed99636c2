// What the server's /metrics says of Sessions, beside Triton's own metrics.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "onnx_cudnn/session.h"
#include "runtime/triton/triton_api.h"

namespace onnx_cudnn::triton {

// The numbers of one Session at a time.
struct MetricValues {
  int64_t runs = 0, padding_rows = 0;
  SessionStats session;
};

inline constexpr int kMetricCount = 9;

// The families, which the backend has. A server without metrics refuses them: then there are none,
// and the log says so.
class MetricFamilies {
 public:
  MetricFamilies();
  ~MetricFamilies();
  TRITONSERVER_MetricFamily* family(int index) const { return families_[index]; }

 private:
  std::array<TRITONSERVER_MetricFamily*, kMetricCount> families_ = {};
};

// The metrics of one Session. Thread-safe.
class SessionMetrics {
 public:
  //   families  must outlive it
  SessionMetrics(const MetricFamilies& families, const std::string& model,
                 const std::string& version, const std::string& device);
  ~SessionMetrics();
  void Update(const MetricValues& values);

 private:
  absl::Mutex mutex_;
  std::array<TRITONSERVER_Metric*, kMetricCount> metrics_ = {};
  std::array<double, kMetricCount> counted_ ABSL_GUARDED_BY(mutex_) = {};  // of counters, so far
};

}  // namespace onnx_cudnn::triton
