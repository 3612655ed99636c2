#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/host_tensor.h"
#include "tools/common/image.h"

namespace onnx_cudnn {

enum class ImageFit : uint8_t {
  kStretch,      // to the input's size
  kCrop,         // the shorter side to 8/7 of the input's, then the middle (256 → 224)
  kStretchCrop,  // to 8/7 of the input's size, then the middle
};

// How pixels become an input: (sample × scale − mean[c]) / deviation[c], c in the input's channel
// order.
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

// `image` as an input of `dtype` (a float type or u8) and `dims`: [N,C,H,W], [N,H,W,C], [C,H,W] or
// [H,W,C], where C is the dim that is 3 (colour) or 1 (gray, ITU-R 601). Every one of N is the
// same. InvalidArgument for others.
absl::StatusOr<HostTensor> ImageToTensor(const Image& image, const ImagePreset& preset, DType dtype,
                                         const Dims& dims);

// The size that `dims` (< 0: not a number) ask of an image; their missing height and width filled
// from `image`.
absl::StatusOr<Dims> FillImageDims(const Image& image, Dims dims);

}  // namespace onnx_cudnn
