#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `cudnn` with its CUDA half: the rules of MakeCudnnRules(), plans of cuDNN's. Opens
// libcudnn and makes a first handle on the device, whose context is open.
//   ordinal  of the device that is current on every thread that compiles or launches
//   errors   FailedPrecondition, one line: no libcudnn, one too old; else what a call failed with
absl::StatusOr<std::unique_ptr<Engine>> MakeCudnnEngine(int ordinal);

// The same for a device that is not there, by the properties that cuDNN writes of it in JSON
// (DevicePropertiesOf): it compiles, and its Steps cannot be launched.
absl::StatusOr<std::unique_ptr<Engine>> MakeCudnnEngineFor(std::string properties);

}  // namespace onnx_cudnn
