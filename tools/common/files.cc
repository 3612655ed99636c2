#include "tools/common/files.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {

std::string FileNameOf(std::string_view name) {
  std::string file(name);
  for (char& c : file) {
    const bool keep =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    if (!keep) c = '_';
  }
  return file;
}

std::vector<std::string> FileNamesOf(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  std::set<std::string> taken;
  for (const std::string& name : names) {
    const std::string file = FileNameOf(name);
    std::string free = file;
    for (int number = 2; !taken.insert(free).second; ++number) {
      free = absl::StrCat(file, "_", number);
    }
    files.push_back(free);
  }
  return files;
}

absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxInputFileBytes));
  std::string_view text = bytes;
  absl::ConsumePrefix(&text, "\xef\xbb\xbf");  // UTF-8 byte order mark
  std::vector<std::string> labels = absl::StrSplit(text, '\n');
  for (std::string& label : labels) {
    if (label.ends_with('\r')) label.pop_back();
  }
  return labels;
}

}  // namespace onnx_cudnn
