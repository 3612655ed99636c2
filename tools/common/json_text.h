#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace onnx_cudnn {

// `json` as UTF-8 text with a final line end; terminal control characters are escaped, invalid
// UTF-8 is replaced.
//   indent  spaces per level; -1: one line
std::string JsonText(const nlohmann::ordered_json& json, int indent);

// Adds these members of `from` to `json` (a variable), under their names and in this order.
#define ADD_JSON_FIELDS(json, from, ...)                                     \
  do {                                                                       \
    nlohmann::ordered_json& nlohmann_json_j = json;                          \
    const auto& nlohmann_json_t = from;                                      \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__)) \
  } while (false)

// In the namespace of `Type`: defines how one becomes JSON, an object of these members.
#define DEFINE_JSON_FIELDS(Type, ...)                                   \
  inline void to_json(nlohmann::ordered_json& json, const Type& from) { \
    ADD_JSON_FIELDS(json, from, __VA_ARGS__);                           \
  }

}  // namespace onnx_cudnn

// nullopt is null.
template <typename T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(ordered_json& json, const std::optional<T>& value) {
    json = value.has_value() ? ordered_json(*value) : ordered_json(nullptr);
  }
};
