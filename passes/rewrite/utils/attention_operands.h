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

// The input that a Mul scales by a constant of each head, or of each batch and head; -1: it does
// not.
int ScaledByHeadOf(const Node* node);
// `q`, [batch, heads, queries, depth], times the scales, the largest of which becomes the factor.
Unscaled WithScales(Graph& graph, Value& q, const HostTensor& scales);

// The rows of k, […, keys, depth], whose transpose is `columns`, without factors. Adds
// Nodes unless the rows are in the Graph: exporters transpose k alone, as a part of the Transpose
// that makes its heads, or between Reshapes of batch and heads.
Unscaled RowsOf(Graph& graph, Value& columns);

// Whether a Reshape between these dims splits the first of three or four into two, or joins them
// again, as heads that are a stack of matrices and windows of several images do.
bool SplitsBatch(const Dims& from, const Dims& to);
// What is added to scores of four dims, for `scores` of five.
Value& WithSplitBatch(Graph& graph, Value& addend, const Dims& scores);
// What is added to scores of five dims, so that it is added to those before their batch was split.
Value& WithOneBatch(Graph& graph, Value& addend, const Dims& scores);

// Exporters compute scores [batch, heads, queries, keys], those of a stack [batch · heads, queries,
// keys], or of groups [batch, kv_heads, heads of a group, queries, keys] with k and v of one head
// for each group.
// The first form of the dims of `scores`, of which `q` is the first operand.
Dims ScoresOfHeads(const Value& scores, Value& q);
// An operand of such a product with four dims; `scores` has the first form.
Value& WithHeads(Graph& graph, Value& value, const Dims& scores);
// What is added to scores with dims `from`, so that it is added to the first form, `scores`.
// nullptr: it is neither for all heads nor for each.
Value* AddendOfHeads(Graph& graph, Value& addend, const Dims& from, const Dims& scores);

// k or v, [batch, heads, keys, channels], before each of its heads was repeated for several heads
// of q (Unsqueeze, Expand, Reshape); `value` itself if none was.
Value& WithoutRepeats(Graph& graph, Value& value);

}  // namespace onnx_cudnn
