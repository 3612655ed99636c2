#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "onnx/defs/parser.h"
#include "runtime/import/names.h"
#include "runtime/import/parse_model.h"

namespace onnx_cudnn {
namespace {

// ONNX's parser calls itself for each bracket: more would overflow the stack.
constexpr int kMostBrackets = 256;

int DepthOf(std::string_view text) {
  int depth = 0, deepest = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {  // to the end of the string
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if (c == '{' || c == '<' || c == '(' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '>' && i > 0 && text[i - 1] == '=') {  // of "=>"
      continue;
    } else if (c == '}' || c == '>' || c == ')' || c == ']') {
      depth = std::max(depth - 1, 0);
    }
  }
  return deepest;
}

}  // namespace

absl::StatusOr<ParsedModel> ParseModelText(std::string_view text) {
  if (const int depth = DepthOf(text); depth > kMostBrackets) {
    return absl::UnimplementedError(
        absl::StrCat("brackets are nested ", depth, " deep, the limit is ", kMostBrackets));
  }
  ParsedModel model;
  const std::string terminated(text);
  const onnx::Common::Status status = onnx::OnnxParser(terminated.c_str()).Parse(model.proto);
  if (!status.IsOK()) return absl::InvalidArgumentError(Clean(status.ErrorMessage()));
  return model;
}

}  // namespace onnx_cudnn
