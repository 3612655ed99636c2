#pragma once

#include <optional>

#include "runtime/kernels/cuda/common/compile_kernels.h"

namespace onnx_cudnn {

// The Unit's Nodes as a simple form (pointwise_simple.h). nullopt: they do not have that form, or
// it does not support the strides of an operand.
std::optional<KernelCode> CompileSimple(const KernelRequest& request);

}  // namespace onnx_cudnn
