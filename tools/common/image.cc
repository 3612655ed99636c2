#include "tools/common/image.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tools/common/files.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMaxPixels = 100'000'000;

absl::StatusOr<Image> Blank(int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > kMaxPixels || height > kMaxPixels / width) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "expected an image of 1 to %d pixels, found %d x %d", kMaxPixels, width, height));
  }
  return Image{static_cast<int>(width), static_cast<int>(height),
               std::vector<uint8_t>(width * height * 3)};
}

absl::StatusOr<Image> DecodePng(std::string_view bytes) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  absl::Cleanup release = [&] { png_image_free(&png); };
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size())) {
    return absl::InvalidArgumentError(absl::StrCat("not a PNG: ", png.message));
  }
  png.format = PNG_FORMAT_RGB;
  ASSIGN_OR_RETURN(Image image, Blank(png.width, png.height));
  const png_color black = {0, 0, 0};
  if (!png_image_finish_read(&png, &black, image.samples.data(), /*row_stride=*/0, nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("damaged PNG: ", png.message));
  }
  return image;
}

absl::StatusOr<Image> DecodeJpeg(std::string_view bytes) {
  std::unique_ptr<void, int (*)(tjhandle)> jpeg(tjInitDecompress(), tjDestroy);
  if (jpeg == nullptr) return absl::ResourceExhaustedError("libjpeg-turbo did not start");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colorspace = 0;
  if (tjDecompressHeader3(jpeg.get(), data, bytes.size(), &width, &height, &subsampling,
                          &colorspace) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("not a JPEG: ", tjGetErrorStr2(jpeg.get())));
  }
  ASSIGN_OR_RETURN(Image image, Blank(width, height));
  if (tjDecompress2(jpeg.get(), data, bytes.size(), image.samples.data(), width, /*pitch=*/0,
                    height, TJPF_RGB, TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("damaged JPEG: ", tjGetErrorStr2(jpeg.get())));
  }
  return image;
}

// The sources of one target pixel along one axis: weights from source `first` on.
struct Taps {
  int first;
  std::vector<float> weights;
};

std::vector<Taps> TapsOf(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double radius = std::max(1.0, scale);
  std::vector<Taps> taps(to);
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(center - radius + 0.5));
    const int last = std::min(from, static_cast<int>(center + radius + 0.5));
    taps[i].first = first;
    double sum = 0;
    for (int j = first; j < last; ++j) {
      const double weight = std::max(0.0, 1 - std::abs(j + 0.5 - center) / radius);
      taps[i].weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : taps[i].weights) weight = static_cast<float>(weight / sum);
  }
  return taps;
}

template <typename T>
FloatImage ResizeRows(const ImageOf<T>& image, int width) {
  const std::vector<Taps> taps = TapsOf(image.width, width);
  FloatImage out{width, image.height, std::vector<float>(int64_t{width} * image.height * 3)};
  float* sample = out.samples.data();
  for (int y = 0; y < image.height; ++y) {
    for (const Taps& tap : taps) {
      for (int c = 0; c < 3; ++c, ++sample) {
        const T* from = image.pixel(y, tap.first) + c;
        for (size_t k = 0; k < tap.weights.size(); ++k) *sample += tap.weights[k] * from[3 * k];
      }
    }
  }
  return out;
}

FloatImage ResizeColumns(const FloatImage& image, int height) {
  const std::vector<Taps> taps = TapsOf(image.height, height);
  const int64_t row = int64_t{image.width} * 3;
  FloatImage out{image.width, height, std::vector<float>(row * height)};
  for (int y = 0; y < height; ++y) {
    float* to = out.samples.data() + y * row;
    for (size_t k = 0; k < taps[y].weights.size(); ++k) {
      const float* from = image.pixel(taps[y].first + static_cast<int>(k), 0);
      for (int64_t i = 0; i < row; ++i) to[i] += taps[y].weights[k] * from[i];
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<Image> DecodeImage(std::string_view bytes) {
  if (absl::StartsWith(bytes, "\x89PNG")) return DecodePng(bytes);
  if (absl::StartsWith(bytes, "\xff\xd8")) return DecodeJpeg(bytes);
  return absl::InvalidArgumentError("expected a PNG or a JPEG");
}

absl::StatusOr<Image> ReadImage(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxInputFileBytes));
  absl::StatusOr<Image> image = DecodeImage(bytes);
  if (!image.ok()) return Annotate(image.status(), path);
  return image;
}

FloatImage Resize(const Image& image, ImageSize to) {
  return ResizeColumns(ResizeRows(image, to.width), to.height);
}

FloatImage CropCenter(const FloatImage& image, ImageSize size) {
  const int left = (image.width - size.width) / 2, top = (image.height - size.height) / 2;
  FloatImage out{size.width, size.height, {}};
  out.samples.reserve(int64_t{size.width} * size.height * 3);
  for (int y = 0; y < size.height; ++y) {
    const float* row = image.pixel(top + y, left);
    out.samples.insert(out.samples.end(), row, row + int64_t{size.width} * 3);
  }
  return out;
}

}  // namespace onnx_cudnn
