#pragma once

#include <string>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Inputs, outputs, and how many Nodes of each op a Graph has, with those in bodies.
std::string GraphSummary(const Graph& graph);

}  // namespace onnx_cudnn
