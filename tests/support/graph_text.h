#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The Graph of `text`, in ONNX's textual syntax, imported like a file of the newest opset.
// Model-local functions may follow the graph, and a model header (<ir_version: 10, opset_import:
// ["" : 17, "d" : 1]>) may precede it. Aborts with the message if the text does not parse or
// import.
Graph GraphFromText(std::string_view text);

// The same, but returns errors. `opset` applies to a text without a header.
absl::StatusOr<Graph> TryGraphFromText(std::string_view text, int opset = kNewestOpset);

// The model file for the text. InvalidArgument: it does not parse.
absl::StatusOr<std::string> ModelBytesFromText(std::string_view text, int opset = kNewestOpset);

}  // namespace onnx_cudnn
