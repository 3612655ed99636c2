// GPU measurements of a benchmark in addition to the times of its runs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onnx_cudnn/session.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// Median milliseconds, by the Device's clock, of copying tensors one after the other.
struct CopyTimes {
  double to_host_ms = 0;    // into pinned memory
  double to_device_ms = 0;  // the same bytes back, so that the tensors keep their content
};

// `tensors` are in memory of `device`.
//   errors  ResourceExhausted: pinned memory of their size
absl::StatusOr<CopyTimes> TimeCopies(Device& device, absl::Span<const Tensor> tensors);

// Median milliseconds, by the host's clock, of Binding::Run on `stream` (RunOptions::stream), which
// does not wait for the run to end; over `runs` runs, each started on an idle device. All bound
// tensors are in device memory.
absl::StatusOr<double> TimeEnqueue(Binding& binding, void* stream, int runs);

// Counts the energy of runs that follow.
class RunEnergy {
 public:
  // device  must outlive it; nullptr: nothing is counted
  explicit RunEnergy(const Device* device) : device_(device), before_(Now()) {}
  // Joules of one run, after `runs` of them. nullopt: the Device has no counter.
  std::optional<double> PerRun(double runs) const;

 private:
  std::optional<double> Now() const {
    return device_ == nullptr ? std::nullopt : device_->Joules();
  }
  const Device* const device_;
  const std::optional<double> before_;
};

struct GpuState {
  std::optional<double> clock_mhz;  // of the multiprocessors
  std::optional<double> power_w;
};

// Parses the output of nvidia-smi for "clocks.sm,power.draw": "1980, 512.33"; "[N/A]" is unknown.
GpuState ParseGpuState(std::string_view text);
// The current values that nvidia-smi reports for the first GPU visible to this process
// (CUDA_VISIBLE_DEVICES); unknown without that program.
GpuState ReadGpuState();

}  // namespace onnx_cudnn
