// Ops on strings. Strings are not stored in arenas, so ops that read or write them are evaluated
// while a Program is built, from constants only; the shapes of their outputs may depend on values.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether an input or output of `node` holds strings.
bool TouchesStrings(const Node& node);

// The size of a string tensor: an object and its characters per element.
int64_t BytesOfStrings(const HostTensor& tensor);

// The outputs of a Node that reads or writes strings; undefined where it has none.
//   most_bytes  limit for a string output, counted as in BytesOfStrings
//   errors      name op, opset and type. Unimplemented: an input is not constant, no such op on
//               strings, text that it does not support. InvalidArgument: dims or values that do not
//               fit. ResourceExhausted: more than most_bytes
absl::StatusOr<std::vector<HostTensor>> EvaluateStrings(const Node& node, int64_t most_bytes);

}  // namespace onnx_cudnn
