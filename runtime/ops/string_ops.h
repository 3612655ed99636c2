// Ops that inspect the characters of strings; only strings.cc includes this. Each takes a Node with
// constant inputs, and returns EvaluateStrings' errors without the Node's form.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

absl::StatusOr<std::vector<HostTensor>> ConcatStrings(const Node& node, int64_t most_bytes);
// Unimplemented: letters beyond ASCII, if their case matters.
absl::StatusOr<std::vector<HostTensor>> NormalizeStrings(const Node& node, int64_t most_bytes);
// Without a delimiter, splits at runs of ASCII white space.
absl::StatusOr<std::vector<HostTensor>> SplitStrings(const Node& node, int64_t most_bytes);

absl::Status TooManyStrings();

}  // namespace onnx_cudnn
