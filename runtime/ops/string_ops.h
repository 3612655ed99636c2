// Ops that look at the characters of strings; only strings.cc includes this. Each takes a Node
// whose inputs are constants, and returns EvaluateStrings' errors without the Node's form.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

absl::StatusOr<std::vector<HostTensor>> ConcatStrings(const Node& node, int64_t most_bytes);
// Letters beyond ASCII are Unimplemented where their case matters.
absl::StatusOr<std::vector<HostTensor>> NormalizeStrings(const Node& node, int64_t most_bytes);
// Without a delimiter, at runs of ASCII white space.
absl::StatusOr<std::vector<HostTensor>> SplitStrings(const Node& node, int64_t most_bytes);

absl::Status TooManyStrings();

}  // namespace onnx_cudnn
