#pragma once

#include <string>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The opset of ONNX's own domain for a file of a Graph.
struct OpsetChoice {
  int opset = kNewestOpset;
  std::string reason;  // the op that needs one this late, and why; empty: the one asked for does
};

// The oldest opset from `least` on in which every op of `graph` and its bodies can be written.
OpsetChoice ChooseOpset(const Graph& graph, int least);

// The version of the file format that came with `opset`, at least the first whose initializers need
// not be inputs.
int IrVersionOf(int opset);

}  // namespace onnx_cudnn
