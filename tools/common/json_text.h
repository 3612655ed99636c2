#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace onnx_cudnn {

// `json` as UTF-8 text with a final line end; terminal control characters are escaped, invalid
// UTF-8 is replaced.
//   indent  spaces per level; -1: one line
std::string JsonText(const nlohmann::ordered_json& json, int indent);

}  // namespace onnx_cudnn
