#pragma once

#include <optional>

#include "runtime/kernels/cuda/common/compile_kernels.h"

namespace onnx_cudnn {

// The Unit's Nodes as a simple form (pointwise_simple.h). nullopt: they are none, or the strides of
// an operand are none that it takes.
std::optional<KernelCode> CompileSimple(const KernelRequest& request);

}  // namespace onnx_cudnn
