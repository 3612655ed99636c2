#include "tests/onnx_backend/failing.h"

#include <fstream>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "tests/support/source_file.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kGap = "  ";

std::string Path(const std::string& file) {
  return SourceFile(absl::StrCat("tests/onnx_backend/", file));
}

}  // namespace

std::map<std::string, std::string> ReadRefusals(const std::string& file) {
  std::map<std::string, std::string> refusals;
  std::ifstream lines(Path(file));
  CHECK(lines.good()) << Path(file) << " is missing";
  for (std::string line; std::getline(lines, line);) {
    const size_t gap = line.find(kGap);
    CHECK(gap != std::string::npos) << file << ": expected \"name  reason\": " << line;
    refusals[line.substr(0, gap)] = line.substr(gap + kGap.size());
  }
  return refusals;
}

void WriteRefusals(const std::string& file, const std::map<std::string, std::string>& refusals) {
  std::ofstream lines(Path(file));
  for (const auto& [name, reason] : refusals) lines << name << kGap << reason << '\n';
}

}  // namespace onnx_cudnn
