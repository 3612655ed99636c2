#include "tests/support/temp_folder.h"

#include <stdlib.h>

#include <fstream>

#include "absl/log/check.h"

namespace onnx_cudnn {

TempFolder::TempFolder() {
  std::string name = std::filesystem::temp_directory_path() / "onnx-cudnn-test-XXXXXX";
  CHECK(mkdtemp(name.data()) != nullptr) << name;
  path_ = std::filesystem::canonical(name);
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::Write(std::string_view name, std::string_view bytes) const {
  const std::string file = path(name);
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  CHECK(out.flush().good()) << file;
  return file;
}

}  // namespace onnx_cudnn
