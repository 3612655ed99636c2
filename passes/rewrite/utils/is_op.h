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

// The row of a table for the op of `node`, which is of ONNX's own domain; nullptr: there is none.
template <typename Row, size_t n>
const Row* RowFor(const Row (&rows)[n], const Node& node) {
  if (!node.domain().empty()) return nullptr;
  const Row* found = std::find_if(rows, rows + n, [&](const Row& r) { return r.op == node.op(); });
  return found == rows + n ? nullptr : found;
}

}  // namespace onnx_cudnn
