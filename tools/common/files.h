#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"

namespace onnx_cudnn {

inline constexpr int64_t kMaxInputFileBytes = int64_t{4} << 30;

// `name` as a file name: other than letters, digits and ._- become _.
inline std::string FileNameOf(std::string_view name) {
  std::string file(name);
  for (char& c : file) {
    const bool keep =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    if (!keep) c = '_';
  }
  return file;
}

}  // namespace onnx_cudnn
