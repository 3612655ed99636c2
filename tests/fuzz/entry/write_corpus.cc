// write_corpus FOLDER: writes the corpora into FOLDER/load and FOLDER/pins, a file per input.
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
  Write(std::filesystem::path(argv[1]) / "load", onnx_cudnn::ModelCorpus());
  Write(std::filesystem::path(argv[1]) / "pins", onnx_cudnn::PinCorpus());
}
