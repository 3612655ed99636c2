#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The input of a Graph in whose memory its output `output` can be computed, or -1. It is
// input 0 of a Node that replaces elements of it (OpTraits::updates), and nothing else reads it: a
// key/value cache and the new one.
int InPlaceInput(const Graph& graph, size_t output);

}  // namespace onnx_cudnn
