// What a bench knows of a GPU beside the times of its runs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onnx_cudnn/session.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// Median milliseconds by the Device's clock of copying tensors, one after the other.
struct CopyTimes {
  double to_host_ms = 0;    // into pinned memory
  double to_device_ms = 0;  // the same bytes back: the tensors stay what they are
};

// `tensors` lie in the memory of the device that `device` is.
//   errors  ResourceExhausted: pinned memory of their size
absl::StatusOr<CopyTimes> TimeCopies(Device& device, absl::Span<const Tensor> tensors);

// Median milliseconds by the host's clock of Binding::Run on `stream` (RunOptions::stream), which
// does not wait for its end, over `runs` of them, each on an idle device. All bound tensors lie on
// the device.
absl::StatusOr<double> TimeEnqueue(Binding& binding, void* stream, int runs);

struct GpuState {
  std::optional<double> clock_mhz;  // of the multiprocessors
  std::optional<double> power_w;
};

// Of what nvidia-smi prints for "clocks.sm,power.draw": "1980, 512.33"; "[N/A]" is not known.
GpuState ParseGpuState(std::string_view text);
// What nvidia-smi says now of the first GPU that is visible to this process (CUDA_VISIBLE_DEVICES);
// not known without that program.
GpuState ReadGpuState();

}  // namespace onnx_cudnn
