#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/exec/device.h"

namespace onnx_cudnn {

// The first GPU that is visible to this process. Space::kHost is pinned memory, which kernels read
// and write too.
//   errors  FailedPrecondition, one line: what was found, what is needed, what to do
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice();

}  // namespace onnx_cudnn
