#include <png.h>
#include <turbojpeg.h>
#include <webp/decode.h>

#include <memory>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/images/formats.h"

namespace onnx_cudnn {

absl::StatusOr<HostTensor> DecodePng(FileBytes file) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  absl::Cleanup release = [&] { png_image_free(&png); };
  if (!png_image_begin_read_from_memory(&png, file.data(), file.size())) {
    return absl::InvalidArgumentError(absl::StrCat("damaged PNG: ", png.message));
  }
  ASSIGN_OR_RETURN(HostTensor image, BlankImage(png.width, png.height));
  // As RGB libpng would mix transparent pixels with a background.
  png.format = PNG_FORMAT_RGBA;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, /*background=*/nullptr, pixels.data(), /*row_stride=*/0,
                             /*colormap=*/nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("damaged PNG: ", png.message));
  }
  uint8_t* sample = image.mutable_data<uint8_t>().data();
  for (size_t i = 0; i < pixels.size(); i += 4) {
    for (int c = 0; c < 3; ++c) *sample++ = pixels[i + c];
  }
  return image;
}

absl::StatusOr<HostTensor> DecodeJpeg(FileBytes file) {
  std::unique_ptr<void, int (*)(tjhandle)> jpeg(tjInitDecompress(), tjDestroy);
  if (jpeg == nullptr) return absl::ResourceExhaustedError("libjpeg-turbo did not start");
  int width = 0, height = 0, subsampling = 0, colorspace = 0;
  if (tjDecompressHeader3(jpeg.get(), file.data(), file.size(), &width, &height, &subsampling,
                          &colorspace) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("damaged JPEG: ", tjGetErrorStr2(jpeg.get())));
  }
  if (colorspace == TJCS_CMYK || colorspace == TJCS_YCCK) {
    return absl::UnimplementedError("JPEG: expected gray or three colors, found four");
  }
  ASSIGN_OR_RETURN(HostTensor image, BlankImage(width, height));
  if (tjDecompress2(jpeg.get(), file.data(), file.size(), image.mutable_data<uint8_t>().data(),
                    width, /*pitch=*/0, height, TJPF_RGB,
                    TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("damaged JPEG: ", tjGetErrorStr2(jpeg.get())));
  }
  return image;
}

absl::StatusOr<HostTensor> DecodeWebp(FileBytes file) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK) {
    return absl::InvalidArgumentError("damaged WebP: its header");
  }
  if (features.has_animation != 0) return absl::UnimplementedError("WebP: an animation");
  ASSIGN_OR_RETURN(HostTensor image, BlankImage(features.width, features.height));
  if (WebPDecodeRGBInto(file.data(), file.size(), image.mutable_data<uint8_t>().data(),
                        image.bytes(), 3 * features.width) == nullptr) {
    return absl::InvalidArgumentError("damaged WebP: its pixels");
  }
  return image;
}

}  // namespace onnx_cudnn
