#include "runtime/graph/node_spec.h"

namespace onnx_cudnn {

NodeSpec SpecLike(const Node& node) {
  return {.op = node.op(),
          .inputs = {},
          .attrs = node.attrs(),
          .outputs = {},
          .domain = node.domain(),
          .name = node.name(),
          .opset = node.opset(),
          .captures = node.captures(),
          .file_opset = node.file_opset()};
}

}  // namespace onnx_cudnn
