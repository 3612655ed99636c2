#pragma once

#include <string_view>

#include "runtime/session/segments/operands.h"

namespace onnx_cudnn {

// Whether RunValueOp runs the op itself; the references run all others.
bool IsValueOp(std::string_view domain, std::string_view op);

// Runs an op without bodies. Errors as for RunNode.
NodeResults RunValueOp(const NodeOperands& operands, const ValueMemory& memory);

}  // namespace onnx_cudnn
