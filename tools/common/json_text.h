#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace onnx_cudnn {

// `json` as a file of UTF-8 holds it, with a last line end; what a terminal would obey is escaped,
// bytes that are no UTF-8 are replaced.
//   indent  blanks a level; -1: all in one line
std::string JsonText(const nlohmann::ordered_json& json, int indent);

}  // namespace onnx_cudnn
