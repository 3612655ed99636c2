#pragma once

#include "runtime/graph/custom_op.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// The definition of a registered op: its reference is the library's function for the host, and it
// has no traits. Lives as long as the process; thread-safe.
const OpDef& DefOf(const CustomOp& op);

}  // namespace onnx_cudnn
