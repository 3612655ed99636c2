// Text from files, made safe for terminals and logs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onnx_cudnn {

enum class Escaped : uint8_t {
  kName,   // one line: line ends and tabs are escaped too
  kLines,  // everything but line ends and tabs
  kJson,   // as kLines, in JSON notation (\u202e): `text` is a document of valid UTF-8
};

// `text` with everything escaped that would control a terminal or reorder or hide text: control
// characters (C0, DEL, C1) and Unicode's direction marks, joiners and other invisible characters as
// \x1b or \u{202e}, bytes that are not UTF-8 as \x9b. Letters of any script stay.
std::string Printable(std::string_view text, Escaped what = Escaped::kName);

// How many bytes at the end of `text` are the start of an incomplete UTF-8 character: 0 to 3.
size_t UnfinishedBytes(std::string_view text);

}  // namespace onnx_cudnn
