#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether the numbers in `spec`'s attributes can be meant: strides, dilations, groups and the like
// at least 1.
//   errors  InvalidArgument, without the node's name
absl::Status CheckLeast(const NodeSpec& spec);

// Whether they fit its inputs: lists as long as the rank asks, a kernel as large as the weight, an
// axis within the rank, pads that leave something. What ONNX's inference checks itself is not
// repeated.
//   errors  InvalidArgument, without the node's name
absl::Status CheckFits(const NodeSpec& spec);

// Whether a tensor type's dims can be: rank within `rank`, and the known dims in all no more
// elements than memory can hold.
//   errors  InvalidArgument, Unimplemented: the rank
absl::Status CheckExtents(const Type& type, int rank);

}  // namespace onnx_cudnn
