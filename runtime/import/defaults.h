#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Sets absent attributes for which ONNX 1.23.2's inference uses another default than the op's
// schema.
void StateDefaults(NodeSpec& spec);

}  // namespace onnx_cudnn
