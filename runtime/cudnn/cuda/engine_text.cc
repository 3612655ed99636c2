#include "runtime/cudnn/cuda/engine_text.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace onnx_cudnn {

std::string ToText(const EngineChoice& choice) {
  std::string text = absl::StrCat("engine ", choice.engine);
  for (const auto& [type, value] : choice.knobs) absl::StrAppend(&text, ", k", type, "=", value);
  return text;
}

absl::StatusOr<EngineChoice> ParseEngineChoice(std::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" names no engine of cuDNN, expected \"engine 41, k2=0\""));
  const std::vector<std::string_view> parts = absl::StrSplit(text, ", ");
  EngineChoice choice;
  std::string_view engine = parts[0];
  if (!absl::ConsumePrefix(&engine, "engine ")) return wrong;
  if (!absl::SimpleAtoi(engine, &choice.engine)) return wrong;
  for (size_t i = 1; i < parts.size(); ++i) {
    std::string_view knob = parts[i];
    if (!absl::ConsumePrefix(&knob, "k")) return wrong;
    const std::pair<std::string_view, std::string_view> sides = absl::StrSplit(knob, '=');
    int64_t type = 0, value = 0;
    if (!absl::SimpleAtoi(sides.first, &type) || !absl::SimpleAtoi(sides.second, &value)) {
      return wrong;
    }
    choice.knobs[type] = value;
  }
  return choice;
}

}  // namespace onnx_cudnn
