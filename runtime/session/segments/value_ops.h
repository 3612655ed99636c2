#pragma once

#include "runtime/session/segments/operands.h"

namespace onnx_cudnn {

// Runs an op without bodies. Errors as for RunNode.
NodeResults RunValueOp(const NodeOperands& operands, const ValueMemory& memory);

}  // namespace onnx_cudnn
