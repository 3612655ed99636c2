#include "tests/support/source_file.h"

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {

std::string SourceFile(std::string_view path) {
  return absl::StrCat(ONNX_CUDNN_SOURCE_DIR "/", path);
}

}  // namespace onnx_cudnn
