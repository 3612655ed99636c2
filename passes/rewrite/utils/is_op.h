#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether `node` is not nullptr and is one of these ops of ONNX's own domain.
inline bool IsOp(const Node* node, std::initializer_list<std::string_view> ops) {
  return node != nullptr && node->domain().empty() &&
         std::find(ops.begin(), ops.end(), node->op()) != ops.end();
}

}  // namespace onnx_cudnn
