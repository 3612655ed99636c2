#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Writes out an absent attribute where ONNX 1.23.2's inference takes another default than the op's
// schema.
void StateDefaults(NodeSpec& spec);

}  // namespace onnx_cudnn
