#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/exec/device.h"
#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// The rates of the device with these properties.
DeviceInfo DeviceInfoOf(const CudaFacts& facts);

// Opens a GPU, by its ordinal among those visible to this process. Space::kHost is pinned memory,
// which kernels can access too.
//   errors  FailedPrecondition, one line: what was found, what is needed, what to do
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal = 0);

}  // namespace onnx_cudnn
