#include "tools/common/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onnx_cudnn {

std::string ProgressBar(std::string_view what, int64_t done, int64_t total) {
  constexpr int64_t kCells = 40;
  const int64_t cells = total <= 0 ? 0 : kCells * std::clamp<int64_t>(done, 0, total) / total;
  std::string bar(static_cast<size_t>(cells), '=');
  if (cells < kCells) bar += '>';
  bar.resize(kCells, ' ');
  return absl::StrFormat("%s  [%s] %d of %d", what, bar, done, total);
}

std::function<void(int64_t done, int64_t total)> TuneProgressBar() {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return [](int64_t done, int64_t total) {
    // ESC [K clears the rest of a longer line; std::cerr would print it as text (PrintableStream).
    const std::string bar = done < total ? ProgressBar("tuning", done, total) : "";
    std::fputs(absl::StrCat("\r\033[K", bar).c_str(), stderr);
  };
}

}  // namespace onnx_cudnn
