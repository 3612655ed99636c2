#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// A cuDNN engine and its knobs, by the frontend's numbers of knobs, which never change.
struct EngineChoice {
  int64_t engine = 0;
  std::map<int64_t, int64_t> knobs;
};

std::string ToText(const EngineChoice& choice);  // "engine 41, k2=0, k24=3"
// InvalidArgument: `text` does not have that form.
absl::StatusOr<EngineChoice> ParseEngineChoice(std::string_view text);

}  // namespace onnx_cudnn
