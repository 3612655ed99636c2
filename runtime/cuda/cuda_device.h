#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/exec/device.h"
#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// Opens a GPU, by its ordinal among those visible to this process. Space::kHost is pinned memory,
// which kernels can access too.
//   on_info  called when its properties are known, before its context is created
//   errors   FailedPrecondition, one line: what was found, what is needed, what to do
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(
    int ordinal = 0, const std::function<void(const DeviceInfo&)>& on_info = {});

}  // namespace onnx_cudnn
