// Helpers for ops with body Graphs.
#pragma once

#include <string_view>

#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// Whether the reference of every Node of a body supports it.
Support CheckBodyOps(const Graph& body, std::string_view name);

// The cost of one iteration of a body; a Node of unknown shapes counts as a call only.
Cost CostOfBody(const Graph& body);

// A tensor that shares the operand's bytes, which must outlive it.
HostTensor Borrowed(const TensorRef& tensor);

}  // namespace onnx_cudnn
