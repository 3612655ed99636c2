#include "tools/common/json_text.h"

#include "runtime/base/printable.h"

namespace onnx_cudnn {

std::string JsonText(const nlohmann::ordered_json& json, int indent) {
  using Json = nlohmann::ordered_json;
  const std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  return Printable(text, Escaped::kJson) + "\n";
}

}  // namespace onnx_cudnn
