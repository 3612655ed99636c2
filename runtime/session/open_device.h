#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/exec/device.h"
#include "runtime/session/engines.h"

namespace onnx_cudnn {

struct OpenedDevice {
  std::unique_ptr<Device> device;
  OwnedTarget target;
  std::string note;  // why kAuto selected it; empty if the options name it
  int ordinal = 0;   // of a GPU
  double open_ms = 0;
};

// The Device that `options` select (device, device_ordinal, target and compute_capability), and the
// Target for which Programs are partitioned.
//   errors  FailedPrecondition: no such device, with what was found and what is needed.
//           InvalidArgument: an unknown target, a compute capability above the GPU's
absl::StatusOr<OpenedDevice> OpenDevice(const SessionOptions& options);

}  // namespace onnx_cudnn
