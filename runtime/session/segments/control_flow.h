#pragma once

#include "runtime/session/segments/operands.h"
#include "runtime/session/segments/segment_plan.h"
#include "runtime/session/segments/segment_runner.h"

namespace onnx_cudnn {

// Runs an If, a Loop or a SequenceMap. Errors as for RunNode, without the Node's name.
NodeResults RunControlFlow(const SegmentPlan::Node& planned, const NodeOperands& operands,
                           const ValueMemory& memory, SubModelRunner& runner);

}  // namespace onnx_cudnn
