// What ops with body Graphs share.
#pragma once

#include <string_view>

#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// Whether every Node of a body has a reference that takes it.
Support CheckBodyOps(const Graph& body, std::string_view name);

// The cost of one iteration of a body; a Node whose shapes are not known counts as a call alone.
Cost CostOfBody(const Graph& body);

// An operand as a tensor of the same bytes, which must outlive it.
HostTensor Borrowed(const TensorRef& tensor);

}  // namespace onnx_cudnn
