#pragma once

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether attributes of `spec` that must be at least 1 are: strides, dilations, groups and the
// like.
//   errors  InvalidArgument, without the node's name
absl::Status CheckLeast(const NodeSpec& spec);

// Whether the attributes fit the inputs: lists have the length that the rank requires, the kernel
// is as large as the weight, axes are within the rank, pads do not crop more than there is. Does
// not repeat what ONNX's inference checks itself.
//   errors  InvalidArgument, without the node's name
absl::Status CheckFits(const NodeSpec& spec);

// Whether the dims of a tensor type are within limits: a rank of at most `rank`, and no more
// elements than memory can hold, as far as dims are known.
//   errors  InvalidArgument, Unimplemented: the rank
absl::Status CheckExtents(const Type& type, int rank);

}  // namespace onnx_cudnn
