#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Serializes `graph` as an ONNX model of the newest opset, with all data inline. Names are kept; a
// name that a body shares with an outer graph gets a number. Bodies refer to captures by their
// outer names. Each graph output has its own name: that of its Value, or of an Identity if the
// Value is an input, a constant or another output.
//   errors  FailedPrecondition: a Node of our own domain. Unimplemented: two opsets of one domain.
//           ResourceExhausted: more bytes than a message may have
absl::StatusOr<std::string> WriteModel(const Graph& graph);

// The same to the file `path`, which is replaced once everything is written. Also the errors of
// base/file.h.
absl::Status WriteModelFile(const Graph& graph, const std::string& path);

}  // namespace onnx_cudnn
