// Colours of messages on standard error.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace onnx_cudnn {

enum class Color { kRed, kYellow };

// Decides for this process. Before the first call the choice is "auto".
//   choice  "auto": if standard error is a terminal and the environment variable NO_COLOR is not
//           set (or empty); "always"; "never"
//   errors  InvalidArgument: another word
absl::Status ChooseColor(std::string_view choice);

// Writes `text` to std::cerr, in this colour if colours are chosen.
void PrintColored(Color color, std::string_view text);

// Has the library's warnings and errors printed to standard error with a coloured prefix, in the
// words of the default sink.
void ColorLog();

}  // namespace onnx_cudnn
