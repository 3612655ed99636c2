#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/exec/device.h"
#include "runtime/session/engines.h"

namespace onnx_cudnn {

struct OpenedDevice {
  std::unique_ptr<Device> device;
  OwnedTarget target;
  std::string note;  // why kAuto took it; empty when it was asked for
};

// The Device for `choice`, and the Target that Programs are partitioned for.
//   target  as MakeTarget names them: the CPU device runs Programs for it; empty: the Device's own
//   errors  FailedPrecondition: no such device, with what was found and what is needed.
//   InvalidArgument: an unknown target
absl::StatusOr<OpenedDevice> OpenDevice(DeviceChoice choice, std::string_view target);

}  // namespace onnx_cudnn
