#include "tests/onnx_backend/failing.h"

#include <fstream>

#include "absl/log/check.h"
#include "tests/support/source_file.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kGap = "  ";

std::string Path() { return SourceFile("tests/onnx_backend/failing.txt"); }

}  // namespace

std::map<std::string, std::string> ReadFailing() {
  std::map<std::string, std::string> failing;
  std::ifstream file(Path());
  for (std::string line; std::getline(file, line);) {
    const size_t gap = line.find(kGap);
    CHECK(gap != std::string::npos) << Path() << ": expected \"name  reason\": " << line;
    failing[line.substr(0, gap)] = line.substr(gap + kGap.size());
  }
  return failing;
}

void WriteFailing(const std::map<std::string, std::string>& failing) {
  std::ofstream file(Path());
  for (const auto& [name, reason] : failing) file << name << kGap << reason << '\n';
}

}  // namespace onnx_cudnn
