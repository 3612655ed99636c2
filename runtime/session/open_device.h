#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/exec/device.h"
#include "runtime/gpu/gpu.h"
#include "runtime/plan/device_info.h"
#include "runtime/session/engines.h"

namespace onnx_cudnn {

struct OpenedDevice {
  std::unique_ptr<Device> device;
  OwnedTarget target;
  const Target* body_target = nullptr;  // as BuildOptions::body_target; nullptr: `target`
  bool keeps_bodies = false;            // no body of an If or a Scan is a Program of its own
  std::string note;                     // why kAuto selected it; empty if the options name it
  int ordinal = 0;                      // of a GPU
  double open_ms = 0;  // what a caller waited for it, which loaded the model meanwhile
};

// The Device that `options` select (device, device_ordinal, target and compute_capability), and the
// Target for which Programs are partitioned.
//   on_info  called with what a GPU is before its context is created; not for the CPU
//   errors  FailedPrecondition: no such device, with what was found and what is needed.
//           InvalidArgument: an unknown target, a compute capability above the GPU's
absl::StatusOr<OpenedDevice> OpenDevice(const SessionOptions& options,
                                        const OnDeviceInfo& on_info = {});
// The same, with what a GPU's Engines prepare.
absl::StatusOr<OpenedDevice> OpenDeviceWith(const SessionOptions& options,
                                            const OnDeviceInfo& on_info, GpuSetup setup);
// The same; on a GPU, processes compile cuDNN's plans: half as many as threads, at most eight.
//   command  of CompilerProcesses; the GPU's ordinal is appended
absl::StatusOr<OpenedDevice> OpenDeviceWithCompilers(const SessionOptions& options,
                                                     std::vector<std::string> command);

// Opens a Device on a thread of its own while the model is loaded, since creating a CUDA context
// takes about as long.
class OpeningDevice {
 public:
  using Open = std::function<absl::StatusOr<OpenedDevice>(const SessionOptions&, OnDeviceInfo)>;

  OpeningDevice(const SessionOptions& options, Open open);
  // Waits until it is known what the GPU is, before its context is created. nullopt: it is no GPU.
  // To be called once.
  std::optional<DeviceInfo> Info();
  // Waits for the Device and makes it the calling thread's current one. To be called once.
  absl::StatusOr<OpenedDevice> Get();

 private:
  std::future<std::optional<DeviceInfo>> info_;
  std::future<absl::StatusOr<OpenedDevice>> opened_;
};

}  // namespace onnx_cudnn
