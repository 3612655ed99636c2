#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/cudnn/cuda/plan_compilers.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `cudnn` with its CUDA half: the rules of MakeCudnnRules() and cuDNN's execution plans.
// Opens libcudnn and, if `creates_handle`, creates a first handle on the device, whose context must
// be open, and reads its properties. Otherwise the first Step does; where that finds no usable
// cuDNN, the Engine refuses.
//   ordinal    of the device, which is current on every thread that compiles or launches
//   compilers  processes that compile plans; nullptr: this process does
//   errors     FailedPrecondition, one line: libcudnn is missing or too old; otherwise the failure
//              of a call
absl::StatusOr<std::unique_ptr<Engine>> MakeCudnnEngine(
    int ordinal, bool creates_handle, std::unique_ptr<PlanCompilers> compilers = nullptr);

// The same for a device that is not present, described by its properties as cuDNN's JSON
// (DevicePropertiesOf): it compiles, but its Steps cannot be launched.
absl::StatusOr<std::unique_ptr<Engine>> MakeCudnnEngineFor(
    std::string properties, std::unique_ptr<PlanCompilers> compilers = nullptr);

}  // namespace onnx_cudnn
