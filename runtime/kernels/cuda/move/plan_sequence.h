// TensorScatter as a plan of scatter.h.
#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"
#include "runtime/kernels/cuda/move/scatter.h"

namespace onnx_cudnn {

// Sets all but the slots and the type. InvalidArgument: operands that do not fit.
absl::Status PlanSequence(const Node& node, ScatterPlan& plan);

// The error of its fault.
absl::Status SequenceFault(const Fault& fault, const ScatterPlan& plan);

}  // namespace onnx_cudnn
