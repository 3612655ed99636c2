#pragma once

#include "passes/pass.h"

namespace onnx_cudnn {

// Replaces an If on a constant by copies of the taken branch's Nodes; the If stays, without uses.
// No: the condition is not constant.
Match InlineIf(Graph& graph, Node& node);

}  // namespace onnx_cudnn
