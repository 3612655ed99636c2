#pragma once

#include <vector>

#include "absl/types/span.h"

namespace onnx_cudnn {

struct ScheduledStep {
  int step;
  int stream;
  std::vector<int> waits;  // Steps on other streams that must finish first
};

// Steps in launch order.
struct Schedule {
  std::vector<ScheduledStep> steps;
  int streams = 1;
};

// predecessors[i] are the Steps whose outputs Step i reads; all are < i. A Step goes to the stream
// of its predecessor that ended last there, otherwise to the stream that has been idle longest.
// Waits implied by another wait are left out.
Schedule MakeSchedule(absl::Span<const std::vector<int>> predecessors, int streams);

// Which Step happens before which, using one vector clock per Step.
class StepOrder {
 public:
  StepOrder(const Schedule& schedule, int steps);
  bool HappensBefore(int a, int b) const {
    return a != b && clock_[b][stream_[a]] >= clock_[a][stream_[a]];
  }
  int position(int step) const { return position_[step]; }  // in launch order
  int steps() const { return static_cast<int>(stream_.size()); }
  int streams() const { return streams_; }
  int stream(int step) const { return stream_[step]; }
  // How many Steps of `stream` have finished when `step` has, including itself on its own stream.
  int clock(int step, int stream) const { return clock_[step][stream]; }

 private:
  std::vector<std::vector<int>> clock_;
  std::vector<int> stream_, position_;
  int streams_;
};

}  // namespace onnx_cudnn
