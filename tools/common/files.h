#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

inline constexpr int64_t kMaxInputFileBytes = int64_t{4} << 30;

// `name` as a file name: characters other than letters, digits and ._- become _.
std::string FileNameOf(std::string_view name);

// The file names of `names`, distinct: equal ones after the first are numbered, "a_b_2".
std::vector<std::string> FileNamesOf(const std::vector<std::string>& names);

// The lines of a text file, with the line ends of any system.
absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path);

}  // namespace onnx_cudnn
