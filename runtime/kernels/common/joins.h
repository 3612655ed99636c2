// Which element-wise Nodes join a kernel's Unit.
#pragma once

#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {

// Whether our element-wise code supports the type of every operand of `node`, and its inputs
// broadcast to its output.
Support CheckOperands(const Node& node);

// Accepts a reader of `step.edge`: element-wise, of supported types, with an output of the edge's
// dims. Its other operands may broadcast.
const Rule* JoinsAsReader(const GrowthStep& step);
// Accepts a producer of `step.edge`: an element-wise Node of supported types, if the edge has the
// dims of the tensor that the Unit computes on: an output of one of its Nodes, or the image that
// its Conv reads.
const Rule* JoinsAsProducer(const GrowthStep& step);

// Growth by what relu(result + residual) covers, where either part may be absent: an Add of a
// residual of the result's type, then a Relu. The result must have no other readers.
GrowthOptions GrowByResidualAndRelu(const Unit& unit);

}  // namespace onnx_cudnn
