// Text of files, fit for a terminal and a log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onnx_cudnn {

enum class Escaped : uint8_t {
  kName,   // one line: line ends and tabs too
  kLines,  // all but line ends and tabs
  kJson,   // as kLines, in JSON's notation \u202e: `text` is a document of valid UTF-8
};

// `text` with what would steer a terminal, reorder or hide what stands beside it shown in letters:
// control characters (C0, DEL, C1) and Unicode's marks of direction, joiners and other invisible
// ones as \x1b or \u{202e}, bytes that are no UTF-8 as \x9b. Letters of any script stay.
std::string Printable(std::string_view text, Escaped what = Escaped::kName);

// How many bytes at the end of `text` are the begin of a UTF-8 character that goes on: 0 to 3.
size_t UnfinishedBytes(std::string_view text);

}  // namespace onnx_cudnn
