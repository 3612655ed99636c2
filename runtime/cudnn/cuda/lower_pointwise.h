// Element-wise Nodes as cuDNN's pointwise operations, by the expressions of
// runtime/ops/pointwise.h.
#pragma once

#include "runtime/cudnn/cuda/graph_builder.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {

// Adds the operations of `node`, whose operands `view` sees. An operand that broadcasts never comes
// first, nor one from memory before one that the graph computes: cuDNN does not take that.
//   errors  Unimplemented: cuDNN has no form for it
absl::Status LowerPointwise(const Node& node, const CudnnTensorView& view, GraphBuilder& builder);

}  // namespace onnx_cudnn
