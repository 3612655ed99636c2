#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether every Run gives other numbers: such a Node is neither folded nor merged with an equal
// one.
bool IsRandom(const Node& node);

}  // namespace onnx_cudnn
