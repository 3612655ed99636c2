#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// `graph` as the bytes of an ONNX model of the newest opset, all data inline. Names are kept; one
// that a body shares with a graph around it gets a number. Bodies read what they capture by its
// outer name. A graph output has its own name: that of its Value, or of an Identity where the Value
// is an input, a constant or another output.
//   errors  FailedPrecondition: a Node of our own domain. Unimplemented: two opsets of one domain.
//   ResourceExhausted: more
//           bytes than a message may have
absl::StatusOr<std::string> WriteModel(const Graph& graph);

// The same into the file `path`, which is replaced when all was written. Errors of base/file.h too.
absl::Status WriteModelFile(const Graph& graph, const std::string& path);

}  // namespace onnx_cudnn
