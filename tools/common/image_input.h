#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/host_tensor.h"
#include "tools/common/image.h"

namespace onnx_cudnn {

enum class ImageFit : uint8_t {
  kStretch,      // to the size of the input
  kCrop,         // the shorter side to 8/7 of the input's, then the centre (256 → 224)
  kStretchCrop,  // to 8/7 of the input's size, then the centre
};

// Conversion of pixels to an input: (sample × scale − mean[c]) / deviation[c], c in the channel
// order of the input.
struct ImagePreset {
  std::string name;
  ImageFit fit = ImageFit::kStretch;
  bool bgr = false;
  float scale = 1;
  std::vector<float> mean = {0, 0, 0};
  std::vector<float> deviation = {1, 1, 1};
};

// raw, unit, signed, imagenet, vgg, open-nsfw. InvalidArgument lists them.
absl::StatusOr<ImagePreset> FindImagePreset(std::string_view name);
std::vector<ImagePreset> AllImagePresets();

// Converts `image` to an input of `dtype` (a float type or u8) and `dims`: [N,C,H,W], [N,H,W,C],
// [C,H,W] or [H,W,C], where C is the dim that is 3 (colour) or 1 (gray, ITU-R 601). All N images
// are the same. InvalidArgument for other dtypes and dims.
absl::StatusOr<HostTensor> ImageToTensor(const Image& image, const ImagePreset& preset, DType dtype,
                                         const Dims& dims);

// The image size for `dims` (< 0: not a number); unknown height and width are taken from `image`.
absl::StatusOr<Dims> FillImageDims(const Image& image, Dims dims);

// Sets what the flags --image-fit and --image-order name; "": as it is.
absl::Status OverrideFit(std::string_view fit, std::string_view order, ImagePreset& preset);
// Three numbers, or one for all channels, from the flag called `flag`.
absl::StatusOr<std::vector<float>> ParseChannels(std::string_view flag,
                                                 const std::vector<std::string>& texts);

}  // namespace onnx_cudnn
