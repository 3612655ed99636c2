// Names from a file, made safe for messages.
#pragma once

#include <string>
#include <string_view>

namespace onnx_cudnn {

// `name` cut to 80 bytes and escaped by Printable.
std::string Short(std::string_view name);

// The same in quotes.
std::string Quoted(std::string_view name);

// node "conv1" (Conv), or node (Conv) for an empty name: the start of a message, cut and escaped in
// the same way.
std::string WhereOf(std::string_view op, std::string_view name);

// `text` of a library's exception in one line, cut to 400 bytes and escaped as in Quoted.
std::string Clean(std::string_view text);

}  // namespace onnx_cudnn
