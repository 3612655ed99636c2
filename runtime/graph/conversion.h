#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether it is a Reformat or a Transfer, which change where and how the bytes of a Value lie.
inline bool IsConversion(const Node& node) {
  return node.domain() == kOwnDomain && (node.op() == "Reformat" || node.op() == "Transfer");
}

}  // namespace onnx_cudnn
