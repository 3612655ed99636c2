// Element-wise Nodes as cuDNN's pointwise operations, by the expressions of
// runtime/ops/pointwise.h.
#pragma once

#include "runtime/cudnn/cuda/graph_builder.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {

// Adds the operations of `node`, whose operands `view` describes. cuDNN rejects a broadcast operand
// in first position, and one from memory before one that the graph computes, so operands are
// ordered accordingly.
//   errors  Unimplemented: cuDNN has no equivalent
absl::Status LowerPointwise(const Node& node, const CudnnTensorView& view, GraphBuilder& builder);

}  // namespace onnx_cudnn
