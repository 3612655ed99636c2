#pragma once

#include <string_view>

#include "onnx/defs/schema.h"

namespace onnx_cudnn {

// ONNX's schema of the newest version of `op` that is not above `opset`, null when there is none.
// Like onnx::OpSchemaRegistry::Schema, which makes all 650 schemas at its first call (12 ms): here
// each is made when it is first asked for. Lives as long as the process; any thread may ask.
const onnx::OpSchema* FindSchema(std::string_view op, int opset, std::string_view domain);

}  // namespace onnx_cudnn
