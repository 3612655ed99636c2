#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "runtime/plan/device_info.h"

namespace onnx_cudnn {

// A Step that executes the calls of `code` in order, on `device`. Loads their functions.
//   errors  FailedPrecondition: the build has no code for this device; Internal
absl::StatusOr<std::shared_ptr<const Step>> MakeKernelStep(KernelCode code,
                                                           const DeviceInfo& device);

}  // namespace onnx_cudnn
