// write_corpus FOLDER: writes the corpora into FOLDER/load and FOLDER/pins, a file per input. That
// of the loader holds ONNX's test vectors too, where they lie on this host.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/targets.h"

namespace {

void Write(const std::filesystem::path& folder, const std::vector<std::string>& inputs) {
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::ofstream(folder / std::to_string(i), std::ios::binary) << inputs[i];
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_corpus FOLDER\n";
    return 1;
  }
  std::vector<std::string> models = onnx_cudnn::ModelCorpus();
  const std::vector<std::string> vectors = onnx_cudnn::VectorCorpus(ONNX_CUDNN_VECTORS);
  models.insert(models.end(), vectors.begin(), vectors.end());
  Write(std::filesystem::path(argv[1]) / "load", models);
  Write(std::filesystem::path(argv[1]) / "pins", onnx_cudnn::PinCorpus());
}
