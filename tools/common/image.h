#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_cudnn {

// 8-bit RGB in row-major order, with the three samples of a pixel adjacent. T is uint8_t as
// decoded, float after resizing.
template <typename T>
struct ImageOf {
  int width = 0;
  int height = 0;
  std::vector<T> samples;  // height × width × 3

  const T* pixel(int y, int x) const { return samples.data() + (int64_t{y} * width + x) * 3; }
};
using Image = ImageOf<uint8_t>;
using FloatImage = ImageOf<float>;

// Decodes a PNG or a JPEG, recognized by the first bytes; at most 100 million pixels. Gray becomes
// RGB, transparent pixels are drawn on black.
//   errors  InvalidArgument: another format, a damaged file, too large
absl::StatusOr<Image> DecodeImage(std::string_view bytes);
absl::StatusOr<Image> ReadImage(const std::string& path);

struct ImageSize {
  int width;
  int height;
};

// Bilinear with half-pixel centres: a triangle filter of the width of a source pixel, or of a
// target pixel if the image shrinks (which avoids aliasing), as Pillow's BILINEAR. At edges,
// weights outside the image are dropped.
FloatImage Resize(const Image& image, ImageSize to);

// The central `size` of `image`, which is at least as large.
FloatImage CropCenter(const FloatImage& image, ImageSize size);

}  // namespace onnx_cudnn
