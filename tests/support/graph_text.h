#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The Graph of `text`, ONNX's textual syntax of a graph, imported like a file of the newest opset.
// Model-local functions may follow the graph, and a model's header (<ir_version: 10, opset_import:
// ["" : 17, "d" : 1]>) may stand before it. Aborts with the message when the text does not parse or
// import.
Graph GraphFromText(std::string_view text);

// The same, where a failure is an answer. `opset` is of a text without a header.
absl::StatusOr<Graph> TryGraphFromText(std::string_view text, int opset = kNewestOpset);

// The file that such a text stands for. InvalidArgument: it does not parse.
absl::StatusOr<std::string> ModelBytesFromText(std::string_view text, int opset = kNewestOpset);

}  // namespace onnx_cudnn
