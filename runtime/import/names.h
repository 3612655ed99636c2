// Names that come from a file, made fit for a message.
#pragma once

#include <string>
#include <string_view>

namespace onnx_cudnn {

// `name` cut at 80 bytes, as Printable shows it.
std::string Short(std::string_view name);

// The same in quotes.
std::string Quoted(std::string_view name);

// node "conv1" (Conv), or node (Conv) for an empty name: the start of a message, cut and cleaned
// so.
std::string WhereOf(std::string_view op, std::string_view name);

// `text` of a library's exception in one line, cut at 400 bytes and cleaned as Quoted does.
std::string Clean(std::string_view text);

}  // namespace onnx_cudnn
