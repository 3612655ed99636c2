#include "absl/log/check.h"
#include "tests/fuzz/targets.h"
#include "tools/common/image.h"

namespace onnx_cudnn {

void FuzzImages(std::string_view bytes) {
  const absl::StatusOr<Image> image = DecodeImage(bytes);
  if (!image.ok()) {
    CHECK(absl::IsInvalidArgument(image.status())) << image.status();
    return;
  }
  CHECK_GT(image->width, 0);
  CHECK_GT(image->height, 0);
  CHECK_EQ(image->samples.size(), size_t{3} * image->width * image->height);
}

}  // namespace onnx_cudnn
