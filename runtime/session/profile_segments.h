#pragma once

#include "absl/status/statusor.h"
#include "onnx_cudnn/profile.h"
#include "runtime/session/loaded_model.h"

namespace onnx_cudnn {

// ProfileProgram for a model that runs in segments: times the steps of each Program that a Run
// comes to, each time that it does, with the nodes and copies between them, in their order.
//   errors  InvalidArgument: no runs; Unimplemented: Runs on these inputs come to different
//           Programs; those of Runs
absl::StatusOr<RunProfile> ProfileSegments(const LoadedModel& model,
                                           const std::vector<const TensorView*>& inputs,
                                           const ProfileOptions& options);

}  // namespace onnx_cudnn
