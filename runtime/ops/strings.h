// Ops on strings. Strings live outside arenas, so what reads or writes them is computed while a
// Program is built, from constants alone, and the shapes of its outputs may follow from values.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// An input or output of `node` holds strings.
bool TouchesStrings(const Node& node);

// The bytes of a tensor of strings: an object and its characters per element.
int64_t BytesOfStrings(const HostTensor& tensor);

// The outputs of a Node that touches strings, undefined where it has none.
//   most_bytes  that an output of strings may take, as BytesOfStrings counts
//   errors      each names op, opset and type. Unimplemented: an input is no constant, no such op
//               on strings, text that it does not support. InvalidArgument: dims or values that do
//               not fit. ResourceExhausted: more than most_bytes
absl::StatusOr<std::vector<HostTensor>> EvaluateStrings(const Node& node, int64_t most_bytes);

}  // namespace onnx_cudnn
