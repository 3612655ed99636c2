#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Corrects `type`, which ONNX's inference function returns for output 0 of `node`, where the
// function is incomplete or contradicts the specification: ConvTranspose with auto_pad or
// output_shape, GatherND of single elements, MaxUnpool with output_shape, OneHot, Pad without axes,
// Range, Resize to an empty tensor, Split into too many parts.
//   constant  the elements of an input; nullptr if unknown
//   errors    InvalidArgument: the inputs or attributes allow no output
absl::Status CorrectType(const Node& node,
                         absl::FunctionRef<const HostTensor*(const Value&)> constant, Type& type);

}  // namespace onnx_cudnn
