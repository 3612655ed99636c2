// Which element-wise Nodes join a kernel.
#pragma once

#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// Whether element-wise code of ours computes on the type of every operand of `node`, and its inputs
// broadcast to what it writes.
Support CheckOperands(const Node& node);

// A reader of `step.edge`: element-wise on such types, with an output of the edge's dims. Other
// operands may broadcast.
const Rule* JoinsAsReader(const GrowthStep& step);
// A producer of `step.edge`: such a Node, where the edge has the dims of what the set computes on:
// an output of one of its Nodes, or the image that a Conv of it reads.
const Rule* JoinsAsProducer(const GrowthStep& step);

// A reader that relu(edge + residual) computes, with either part absent: an Add of a residual of
// the edge's type, then a Relu. Not where a set has an Add already, or the edge has other readers.
const Rule* JoinsAsResidualOrRelu(const GrowthStep& step);

}  // namespace onnx_cudnn
