#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The op, attributes, name, versions and number of captures of `node`; without inputs, outputs and
// bodies.
NodeSpec SpecLike(const Node& node);

}  // namespace onnx_cudnn
