// Reads the operands of an attention that exporters compose of MatMul, Softmax and MatMul.
#pragma once

#include <optional>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Where the elements of `value`, in their order, come from: before every Reshape.
Value& BeforeReshapes(Value& value);

// `value` without the factors by which Mul and Div, of its dtype, scale it.
struct Unscaled {
  Value* value;
  double factor = 1;
};
Unscaled WithoutFactors(Value& value);

// The input that a Mul or Div scales by a constant of one element; -1: it does not.
int ScaledInputOf(const Node* node);

// The rows of k, [batch, heads, keys, depth], whose transpose is `columns`, without factors. Adds
// Nodes unless the rows are in the Graph: exporters transpose k alone, as a part of the Transpose
// that makes its heads, or between Reshapes of batch and heads.
Unscaled RowsOf(Graph& graph, Value& columns);

// Whether a Reshape between these dims splits the first of four into two, or joins them again, as
// windows of several images do.
bool SplitsBatch(const Dims& from, const Dims& to);
// What is added to scores of four dims, for `scores` of five.
Value& WithSplitBatch(Graph& graph, Value& addend, const Dims& scores);
// What is added to scores of five dims, so that it is added to those before their batch was split.
Value& WithOneBatch(Graph& graph, Value& addend, const Dims& scores);

// k or v, [batch, heads, keys, channels], before each of its heads was repeated for several heads
// of q (Unsqueeze, Expand, Reshape); `value` itself if none was.
Value& WithoutRepeats(Graph& graph, Value& value);

}  // namespace onnx_cudnn
