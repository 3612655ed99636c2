// What is added to the scores of an attention, or replaces them.
#pragma once

#include "runtime/graph/graph.h"
#include "runtime/ops/attention_mask.h"

namespace onnx_cudnn {

// Whether the constant, broadcast to `scores` [batch, heads, n, n], excludes from each query
// exactly the keys behind it, and adds 0 elsewhere.
bool IsCausalMask(const HostTensor& constant, const Dims& scores);

// Whether every element is 0.
bool AddsNothing(const HostTensor& constant);

// How many keys, from the first, the one query of each batch sees where `condition` holds:
// i64[batch] for scores [batch, heads, 1, keys]. nullptr: something else than the positions of keys
// decides, or there are more queries.
Value* LengthsOf(Graph& graph, Value& condition, const Dims& scores);

// op(inputs) without attributes: the output of a Node that is there, since every layer may have the
// same mask, or of a new one of the type.
Value& ComputedOnce(Graph& graph, std::string_view op, std::vector<Value*> inputs, Type type);

// In f32 if their types differ.
Value& SumOfMasks(Graph& graph, Value& first, Value& second);

// The mask with kExcludes instead of finite numbers below it, which exclude the same keys; `mask`
// itself if it is known to have none that matters (IsSafeMask).
Value& SafeMask(Graph& graph, Value& mask);

}  // namespace onnx_cudnn
