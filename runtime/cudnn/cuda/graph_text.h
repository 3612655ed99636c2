#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/cudnn/cuda/cudnn_graph.h"

namespace onnx_cudnn {

// What a plan depends on, the graph without its constants, as numbers in one line. Only for
// programs of this build: it has no version.
std::string ToText(const CudnnGraph& graph);
// InvalidArgument: `text` does not have that form.
absl::StatusOr<CudnnGraph> ParseCudnnGraph(std::string_view text);

}  // namespace onnx_cudnn
