#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// For each output of a static Graph the input in whose memory it can be computed, or -1. It is
// input 0 of a Node that replaces elements of it (OpTraits::updates), and nothing else reads it: a
// key/value cache and the new one.
std::vector<int> InPlaceInputs(const Graph& graph);

}  // namespace onnx_cudnn
