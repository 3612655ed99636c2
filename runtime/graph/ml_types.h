// The domain ai.onnx.ml: classical machine learning.
#pragma once

#include <string_view>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";
inline constexpr int kNewestMlOpset = 5;

// The type of output `index` of a Node of this domain, where ONNX has no inference function or one
// that leaves it open; Type() where its function is complete or the inputs' types are not known.
Type MlOutputType(const Node& node, int index);

}  // namespace onnx_cudnn
