#pragma once

#include <string_view>

#include "onnx/defs/schema.h"

namespace onnx_cudnn {

// ONNX's schema of the newest version of `op` not above `opset`; nullptr if there is none. Unlike
// onnx::OpSchemaRegistry::Schema, which creates all 650 schemas at its first call (12 ms), creates
// each schema at first use. Lives as long as the process; thread-safe.
const onnx::OpSchema* FindSchema(std::string_view op, int opset, std::string_view domain);

}  // namespace onnx_cudnn
