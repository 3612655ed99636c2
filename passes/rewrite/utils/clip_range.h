#pragma once

#include "passes/pass.h"

namespace onnx_cudnn {

// Clip and Relu of floats with constant bounds: two in a row ⇒ one, and a Clip without finite
// bounds ⇒ its input.
Match MergeClips(Graph& graph, Node& node);

}  // namespace onnx_cudnn
