#pragma once

#include <memory>
#include <optional>

#include "runtime/plan/engine.h"

namespace onnx_cudnn {

// The Engine `custom`: single Nodes whose op is of a user's library that can launch it on a stream
// (onnx_cudnn_op.h), on row-major operands in device memory.
//   device_ordinal  of the GPU; none: its Steps run the ops' references, on the CPU device
std::unique_ptr<Engine> MakeCustomEngine(std::optional<int> device_ordinal = std::nullopt);

}  // namespace onnx_cudnn
