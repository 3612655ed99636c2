#pragma once

#include <string>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// `graph` in ONNX's textual syntax with our dtype names, one Node per line, stable between runs:
//   g (f32[1,4] x) => (f32[1,4] y) {
//     y = Add(x, {1, 2, 3, 4})
//   }
// Constants are printed at their use: up to 8 elements as {…}, larger ones as <f32[64,3,7,7] 1f3c…
// -0.1, 0.2, …> (type, hash of the bytes, first values). Bodies follow the attributes of their
// Node, indented. A graph output whose Value has another name is printed as name = value.
std::string Print(const Graph& graph);
std::string Print(const Node& node);  // one Node's line

}  // namespace onnx_cudnn
