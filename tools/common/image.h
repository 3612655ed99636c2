#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// 8-bit RGB, row by row; each pixel's three samples lie together. T is uint8_t as decoded, float
// once it was resized.
template <typename T>
struct ImageOf {
  int width = 0;
  int height = 0;
  std::vector<T> samples;  // height × width × 3

  const T* pixel(int y, int x) const { return samples.data() + (int64_t{y} * width + x) * 3; }
};
using Image = ImageOf<uint8_t>;
using FloatImage = ImageOf<float>;

// A PNG or a JPEG, told apart by their first bytes; at most 100 million pixels. Gray becomes RGB,
// transparency lies on black.
//   errors  InvalidArgument: another format, a damaged file, too large
absl::StatusOr<Image> DecodeImage(std::string_view bytes);
absl::StatusOr<Image> ReadImage(const std::string& path);

struct ImageSize {
  int width;
  int height;
};

// Bilinear, pixel centres at half: a triangle filter of the width of a source pixel, or of a target
// pixel where the image shrinks (so nothing aliases), as Pillow's BILINEAR. Edges: weights outside
// are left out.
FloatImage Resize(const Image& image, ImageSize to);

// The `size` in the middle of `image`, which is at least as large.
FloatImage CropCenter(const FloatImage& image, ImageSize size);

}  // namespace onnx_cudnn
