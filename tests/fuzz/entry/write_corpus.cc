// write_corpus FOLDER: writes the corpus of each fuzzer and its regressions into FOLDER/NAME, one
// file per input. The loader's corpus also contains ONNX's test vectors, if this host has them.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/corpora.h"
#include "tests/fuzz/targets.h"

namespace onnx_cudnn {
namespace {

void Write(const std::filesystem::path& folder, const std::string& prefix,
           const std::vector<std::string>& inputs) {
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::ofstream(folder / (prefix + std::to_string(i)), std::ios::binary) << inputs[i];
  }
}

}  // namespace
}  // namespace onnx_cudnn

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_corpus FOLDER\n";
    return 1;
  }
  const std::filesystem::path folder = argv[1];
  for (const onnx_cudnn::FuzzTarget& target : onnx_cudnn::FuzzTargets()) {
    onnx_cudnn::Write(folder / target.name, "", target.corpus());
    onnx_cudnn::Write(folder / target.name, "regression", onnx_cudnn::Regressions(target.name));
  }
  onnx_cudnn::Write(folder / "load", "vector", onnx_cudnn::VectorCorpus(ONNX_CUDNN_VECTORS));
}
