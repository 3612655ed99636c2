#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "onnx_cudnn/model_value.h"
#include "runtime/session/segments/segment_plan.h"
#include "runtime/session/segments/segment_runner.h"
#include "runtime/session/segments/values.h"

namespace onnx_cudnn {

// Runs a Node between Programs: control flow over the bodies' Programs; sequences, optionals,
// strings and ops whose output shapes depend on data on the host.
//   inputs   parallel to the inputs of its part
//   returns  the outputs of its part; they may share bytes with inputs
//   errors   InvalidArgument, Unimplemented, with the Node's name
absl::StatusOr<std::vector<ModelValue>> RunNode(const SegmentPlan::Node& node,
                                                const std::vector<ModelValue>& inputs,
                                                const ValueMemory& memory, SubModelRunner& runner);

}  // namespace onnx_cudnn
