#include "tools/common/color.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "onnx_cudnn/log.h"

namespace onnx_cudnn {
namespace {

bool IsColorWelcome() {
  const char* const no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || no_color[0] == '\0') && isatty(STDERR_FILENO) != 0;
}

bool& HasColor() {
  static bool has_color = IsColorWelcome();
  return has_color;
}

// Past std::cerr, which prints terminal sequences as text (PrintableStream).
void PutSequence(const char* sequence) {
  if (!HasColor()) return;
  std::cerr << std::flush;
  std::fputs(sequence, stderr);
}

}  // namespace

absl::Status ChooseColor(std::string_view choice) {
  if (choice != "auto" && choice != "always" && choice != "never") {
    return absl::InvalidArgumentError(
        absl::StrCat("--color: expected auto, always or never, found ", choice));
  }
  HasColor() = choice == "always" || (choice == "auto" && IsColorWelcome());
  return absl::OkStatus();
}

void PrintColored(Color color, std::string_view text) {
  PutSequence(color == Color::kRed ? "\033[31m" : "\033[33m");
  std::cerr << text;
  PutSequence("\033[m");
}

void ColorLog() {
  SetLogSink([](LogSeverity severity, std::string_view message) {
    if (severity == LogSeverity::kInfo) return;
    if (severity == LogSeverity::kWarning) {
      PrintColored(Color::kYellow, "onnx-cudnn: warning: ");
    } else {
      PrintColored(Color::kRed, "onnx-cudnn: error: ");
    }
    std::cerr << message << std::endl;
  });
}

}  // namespace onnx_cudnn
