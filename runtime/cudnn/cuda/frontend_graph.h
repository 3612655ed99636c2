// Translates a CudnnGraph to the operations of cuDNN's frontend.
#pragma once

#include "runtime/cudnn/cuda/cudnn_graph.h"

namespace cudnn_frontend::graph {
class Graph;
}

namespace onnx_cudnn {

// Adds the tensors and operations of `graph` to an empty frontend graph, with its input and output
// types. Tensor i of `graph` gets uid i + 1. Throws what the frontend throws.
void AddOperations(const CudnnGraph& graph, cudnn_frontend::graph::Graph& to);

}  // namespace onnx_cudnn
