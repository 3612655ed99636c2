// --output of onnx-cudnn-opt.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "runtime/graph/graph.h"
#include "runtime/import/onnx_writer.h"

namespace onnx_cudnn {

// The opset that was asked for; 0: the least one, that of the file if it can be written.
int OpsetToWrite(const Graph& graph, int asked);

// Writes `graph` to `file`, and says on standard output what was written.
absl::Status WriteRewritten(const Graph& graph, int asked, const NodeMetadata& metadata,
                            const std::string& file);

}  // namespace onnx_cudnn
