#pragma once

#include <optional>

#include "runtime/kernels/cuda/common/compile_kernels.h"

namespace onnx_cudnn {

// The Unit's Nodes by the kernel of pointwise_simple.h; nothing where they have another form, or
// their operands lie in a way that it does not take.
std::optional<KernelCode> CompileSimple(const KernelRequest& request);

}  // namespace onnx_cudnn
