#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "runtime/images/formats.h"
#include "runtime/ops/image_decoder.h"

namespace onnx_cudnn {
namespace {

bool IsWebp(std::string_view file) {
  return absl::StartsWith(file, "RIFF") && file.substr(0, 12).ends_with("WEBP");
}

bool IsJpeg2000(std::string_view file) {
  return file.starts_with(std::string_view("\0\0\0\x0cjP  ", 8)) ||
         absl::StartsWith(file, "\xff\x4f\xff\x51");  // without the container
}

bool IsTiff(std::string_view file) {
  return file.starts_with(std::string_view("II*\0", 4)) ||
         file.starts_with(std::string_view("MM\0*", 4));
}

bool IsPnm(std::string_view file) {
  return file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6';
}

}  // namespace

absl::StatusOr<HostTensor> BlankImage(int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > kMaxPixels || height > kMaxPixels / width) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "expected an image of 1 to %d pixels, found %d x %d", kMaxPixels, width, height));
  }
  return HostTensor::Allocate(DType::kU8, {height, width, 3});
}

absl::StatusOr<HostTensor> DecodeImage(FileBytes file) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min<size_t>(file.size(), 16));
  if (absl::StartsWith(start, "\x89PNG")) return DecodePng(file);
  if (absl::StartsWith(start, "\xff\xd8")) return DecodeJpeg(file);
  if (absl::StartsWith(start, "BM")) return DecodeBmp(file);
  if (IsWebp(start)) return DecodeWebp(file);
  if (IsTiff(start)) return DecodeTiff(file);
  if (IsJpeg2000(start)) return DecodeJpeg2000(file);
  if (IsPnm(start)) return DecodePnm(file);
  return absl::InvalidArgumentError(absl::StrFormat(
      "%d bytes are no BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP image", file.size()));
}

}  // namespace onnx_cudnn
