#pragma once

#include <set>
#include <string>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The names by which SessionOptions::keep_f32 may name the Nodes of `graph`: their own and those of
// their outputs.
std::set<std::string> NamesOfNodes(const Graph& graph);

}  // namespace onnx_cudnn
