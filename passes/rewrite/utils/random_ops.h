#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether every Run computes other numbers. Such a Node is neither folded nor merged with an equal
// one.
bool IsRandom(const Node& node);

}  // namespace onnx_cudnn
