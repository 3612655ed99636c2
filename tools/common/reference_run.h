#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "tools/common/npy.h"

namespace onnx_cudnn {

// The argument of --verify that stands for RunReference.
inline constexpr std::string_view kVerifyReference = "reference";

// The outputs of the model by the ops' references on the CPU device, in its own types and without
// rewrites that running does not need.
//   asked  whose op libraries and threads are used
//   errors  those of Load and Run
absl::StatusOr<NamedTensors> RunReference(const std::string& model, const SessionOptions& asked,
                                          const std::vector<NamedView>& inputs);

}  // namespace onnx_cudnn
