// What is added to the scores of an attention, or replaces them.
#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Scores plus a number up to this one are the number itself, so that it does not matter whether it
// replaces them or is added.
inline constexpr double kExcludes = -1e30;

// Whether the constant, broadcast to `scores` [batch, heads, n, n], excludes from each query
// exactly the keys behind it, and adds 0 elsewhere.
bool IsCausalMask(const HostTensor& constant, const Dims& scores);

// Whether every element is 0.
bool AddsNothing(const HostTensor& constant);

}  // namespace onnx_cudnn
