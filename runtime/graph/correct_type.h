#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Changes `type`, which ONNX's inference function gives to output 0 of `node`, where the function
// leaves out or contradicts what the specification says: ConvTranspose by auto_pad or
// output_shape, GatherND of single elements, MaxUnpool by output_shape, OneHot, Pad of no axis,
// Range, Resize to nothing, Split into too many parts.
//   constant  the elements of an input, nullptr where they are not known
//   errors    InvalidArgument: the inputs or attributes allow no output
absl::Status CorrectType(const Node& node,
                         absl::FunctionRef<const HostTensor*(const Value&)> constant, Type& type);

}  // namespace onnx_cudnn
