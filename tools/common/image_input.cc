#include "tools/common/image_input.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

// The axes of an input; batch −1: none.
struct Layout {
  int batch, channel, height, width;
};

absl::StatusOr<Layout> LayoutOf(const Dims& dims) {
  const int rank = static_cast<int>(dims.size());
  const auto is_channels = [&](int i) { return dims[i] == 3 || dims[i] == 1; };
  const int first = rank - 3;  // the first of channel, height and width
  if (rank == 3 || rank == 4) {
    const bool planes = is_channels(first), last = is_channels(rank - 1);
    if (planes && (!last || dims[first] >= dims[rank - 1])) {
      return Layout{first - 1, first, first + 1, first + 2};
    }
    if (last) return Layout{first - 1, first + 2, first, first + 1};
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("expected NCHW, NHWC, CHW or HWC with 3 or 1 channels for an image, found %s",
                      ToString(dims)));
}

ImageSize Larger(ImageSize size) { return {(size.width * 8 + 6) / 7, (size.height * 8 + 6) / 7}; }

FloatImage Fit(const Image& image, ImageFit fit, ImageSize size) {
  if (fit == ImageFit::kStretch) return Resize(image, size);
  ImageSize large = Larger(size);
  if (fit == ImageFit::kCrop) {
    const double scale = std::max(static_cast<double>(large.width) / image.width,
                                  static_cast<double>(large.height) / image.height);
    large = {std::max(size.width, static_cast<int>(std::lround(image.width * scale))),
             std::max(size.height, static_cast<int>(std::lround(image.height * scale)))};
  }
  return CropCenter(Resize(image, large), size);
}

float Sample(const float* rgb, int channel, int channels, bool bgr) {
  if (channels == 1) return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
  return rgb[bgr ? 2 - channel : channel];
}

// Pixels as floats, in the order of `layout`, for one image of the batch.
std::vector<float> Arrange(const FloatImage& image, const ImagePreset& preset, int channels,
                           bool planes) {
  const int64_t pixels = int64_t{image.width} * image.height;
  std::vector<float> out(pixels * channels);
  for (int64_t i = 0; i < pixels; ++i) {
    for (int c = 0; c < channels; ++c) {
      const float sample = Sample(image.samples.data() + 3 * i, c, channels, preset.bgr);
      const float value = (sample * preset.scale - preset.mean[c]) / preset.deviation[c];
      out[planes ? c * pixels + i : i * channels + c] = value;
    }
  }
  return out;
}

template <typename T, typename Convert>
void Fill(HostTensor& tensor, const std::vector<float>& one, Convert convert) {
  absl::Span<T> to = tensor.mutable_data<T>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = convert(one[i % one.size()]);
}

absl::Status FillAs(HostTensor& tensor, const std::vector<float>& one) {
  switch (tensor.dtype()) {
    case DType::kF32:
      Fill<float>(tensor, one, [](float x) { return x; });
      return absl::OkStatus();
    case DType::kF64:
      Fill<double>(tensor, one, [](float x) { return static_cast<double>(x); });
      return absl::OkStatus();
    case DType::kF16:
      Fill<Float16>(tensor, one, ToFloat16);
      return absl::OkStatus();
    case DType::kBF16:
      Fill<BFloat16>(tensor, one, ToBFloat16);
      return absl::OkStatus();
    case DType::kU8:
      Fill<uint8_t>(tensor, one, [](float x) {
        return static_cast<uint8_t>(std::clamp(std::lround(x), 0L, 255L));
      });
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "expected f32, f64, f16, bf16 or u8 for an image, found ", NameOf(tensor.dtype())));
  }
}

}  // namespace

std::vector<ImagePreset> AllImagePresets() {
  return {
      {.name = "raw"},
      {.name = "unit", .scale = 1 / 255.0f},
      {.name = "signed", .scale = 1 / 127.5f, .mean = {1, 1, 1}},
      {.name = "imagenet",
       .fit = ImageFit::kCrop,
       .scale = 1 / 255.0f,
       .mean = {0.485f, 0.456f, 0.406f},
       .deviation = {0.229f, 0.224f, 0.225f}},
      {.name = "vgg", .fit = ImageFit::kCrop, .bgr = true, .mean = {103.939f, 116.779f, 123.68f}},
      {.name = "open-nsfw", .fit = ImageFit::kStretchCrop, .bgr = true, .mean = {104, 117, 123}},
  };
}

absl::StatusOr<ImagePreset> FindImagePreset(std::string_view name) {
  std::vector<ImagePreset> presets = AllImagePresets();
  for (ImagePreset& preset : presets) {
    if (preset.name == name) return std::move(preset);
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "unknown image preset \"%s\", expected one of: %s", name,
      absl::StrJoin(presets, ", ",
                    [](std::string* out, const ImagePreset& p) { out->append(p.name); })));
}

absl::StatusOr<HostTensor> ImageToTensor(const Image& image, const ImagePreset& preset, DType dtype,
                                         const Dims& dims) {
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(dims));
  RETURN_IF_ERROR(CheckedBytes(dtype, dims).status());
  const int64_t height = dims[layout.height], width = dims[layout.width];
  if (height < 1 || width < 1 || height > 16384 || width > 16384) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "expected 1 to 16384 rows and columns for an image, found %d x %d", height, width));
  }
  const FloatImage fitted =
      Fit(image, preset.fit, {static_cast<int>(width), static_cast<int>(height)});
  const std::vector<float> one = Arrange(fitted, preset, static_cast<int>(dims[layout.channel]),
                                         layout.channel < layout.height);
  HostTensor tensor = HostTensor::Allocate(dtype, dims);
  RETURN_IF_ERROR(FillAs(tensor, one));
  return tensor;
}

absl::StatusOr<Dims> FillImageDims(const Image& image, Dims dims) {
  ASSIGN_OR_RETURN(const Layout layout, LayoutOf(dims));
  if (layout.batch >= 0 && dims[layout.batch] < 0) dims[layout.batch] = 1;
  if (dims[layout.height] < 0) dims[layout.height] = image.height;
  if (dims[layout.width] < 0) dims[layout.width] = image.width;
  return dims;
}

absl::StatusOr<std::vector<float>> ParseChannels(std::string_view flag,
                                                 const std::vector<std::string>& texts) {
  std::vector<float> values;
  for (const std::string& text : texts) {
    float value;
    if (!absl::SimpleAtof(text, &value)) {
      return absl::InvalidArgumentError(absl::StrFormat("--%s: \"%s\" is no number", flag, text));
    }
    values.push_back(value);
  }
  if (values.size() == 1) values.assign(3, values[0]);
  if (values.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--%s: expected 1 or 3 numbers, found %d", flag, values.size()));
  }
  return values;
}

absl::Status OverrideFit(std::string_view fit, std::string_view order, ImagePreset& preset) {
  if (fit == "stretch")
    preset.fit = ImageFit::kStretch;
  else if (fit == "crop")
    preset.fit = ImageFit::kCrop;
  else if (fit == "stretch-crop")
    preset.fit = ImageFit::kStretchCrop;
  else if (!fit.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--image-fit: expected stretch, crop or stretch-crop, found ", fit));
  }
  if (!order.empty() && order != "rgb" && order != "bgr") {
    return absl::InvalidArgumentError(
        absl::StrCat("--image-order: expected rgb or bgr, found ", order));
  }
  if (!order.empty()) preset.bgr = order == "bgr";
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
