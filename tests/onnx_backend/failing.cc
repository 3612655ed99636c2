#include "tests/onnx_backend/failing.h"

#include <fstream>

#include "absl/log/check.h"

namespace onnx_cudnn {
namespace {

constexpr char kPath[] = ONNX_CUDNN_SOURCE_DIR "/tests/onnx_backend/failing.txt";
constexpr std::string_view kGap = "  ";

}  // namespace

std::map<std::string, std::string> ReadFailing() {
  std::map<std::string, std::string> failing;
  std::ifstream file(kPath);
  for (std::string line; std::getline(file, line);) {
    const size_t gap = line.find(kGap);
    CHECK(gap != std::string::npos) << kPath << ": expected \"name  reason\": " << line;
    failing[line.substr(0, gap)] = line.substr(gap + kGap.size());
  }
  return failing;
}

void WriteFailing(const std::map<std::string, std::string>& failing) {
  std::ofstream file(kPath);
  for (const auto& [name, reason] : failing) file << name << kGap << reason << '\n';
}

}  // namespace onnx_cudnn
