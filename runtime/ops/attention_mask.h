// The masks of Attention: numbers that are added to its scores.
#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Scores plus a number up to this one are the number itself, so that it does not matter whether it
// replaces them or is added.
inline constexpr double kExcludes = -1e30;

// Whether all numbers of the mask keep their meaning when an engine multiplies them by log2(e), as
// cuDNN does: the Graph shows that each is -infinity or far enough above the lowest f32, which
// would become -infinity. That differs where a query has no other key: the op gives the mean of the
// values for finite numbers, 0 for -infinity.
bool IsSafeMask(const Value& mask);

}  // namespace onnx_cudnn
