#include "tests/support/graph_text.h"

#include <utility>

#include "absl/log/check.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "runtime/base/status.h"
#include "runtime/import/onnx_loader.h"

namespace onnx_cudnn {

absl::StatusOr<std::string> ModelBytesFromText(std::string_view text, int opset) {
  std::string model_text(absl::StripLeadingAsciiWhitespace(text));
  if (!model_text.starts_with('<')) {
    model_text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : ", opset, "]>\n", model_text);
  }
  onnx::ModelProto model;
  const onnx::Common::Status status = onnx::OnnxParser(model_text.c_str()).Parse(model);
  if (!status.IsOK()) return absl::InvalidArgumentError(status.ErrorMessage());
  return model.SerializeAsString();
}

absl::StatusOr<Graph> TryGraphFromText(std::string_view text, int opset) {
  ASSIGN_OR_RETURN(std::string bytes, ModelBytesFromText(text, opset));
  return LoadModelBytes(bytes);
}

Graph GraphFromText(std::string_view text) {
  absl::StatusOr<Graph> graph = TryGraphFromText(text);
  CHECK_OK(graph.status()) << text;
  return *std::move(graph);
}

}  // namespace onnx_cudnn
