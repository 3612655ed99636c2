#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether the numbers in `spec`'s attributes are in range: strides, dilations, groups and the like
// at least 1.
//   errors  InvalidArgument, without the node's name
absl::Status CheckLeast(const NodeSpec& spec);

// Whether they fit its inputs: lists as long as the rank asks, a kernel as large as the weight, an
// axis within the rank, pads that do not crop more than there is. What ONNX's inference checks
// itself is not repeated.
//   errors  InvalidArgument, without the node's name
absl::Status CheckFits(const NodeSpec& spec);

// Whether a tensor type's dims are within limits: a rank of at most `rank`, and no more elements
// than memory can hold, as far as dims are known.
//   errors  InvalidArgument, Unimplemented: the rank
absl::Status CheckExtents(const Type& type, int rank);

}  // namespace onnx_cudnn
