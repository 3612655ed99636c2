#include "tools/common/image.h"

#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include "absl/strings/str_cat.h"
#include "tools/common/image_input.h"

namespace onnx_cudnn {
namespace {

std::string EncodePng(const Image& image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = image.width;
  png.height = image.height;
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string file(bytes, '\0');
  png_image_write_to_memory(&png, file.data(), &bytes, 0, image.samples.data(), 0, nullptr);
  return file.substr(0, bytes);
}

std::string EncodeJpeg(const Image& image) {
  tjhandle jpeg = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long bytes = 0;  // NOLINT: turbojpeg's type
  tjCompress2(jpeg, image.samples.data(), image.width, 0, image.height, TJPF_RGB, &data, &bytes,
              TJSAMP_444, 100, 0);
  std::string file(reinterpret_cast<char*>(data), bytes);
  tjFree(data);
  tjDestroy(jpeg);
  return file;
}

Image Gradient(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.samples.push_back(static_cast<uint8_t>(4 * x));
      image.samples.push_back(static_cast<uint8_t>(4 * y));
      image.samples.push_back(200);
    }
  }
  return image;
}

TEST(ImageTest, PngComesBack) {
  const Image image = Gradient(5, 3);
  const absl::StatusOr<Image> back = DecodeImage(EncodePng(image));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->width, 5);
  EXPECT_EQ(back->height, 3);
  EXPECT_EQ(back->samples, image.samples);
}

TEST(ImageTest, JpegComesBackNearly) {
  const Image image = Gradient(16, 8);
  const absl::StatusOr<Image> back = DecodeImage(EncodeJpeg(image));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->samples.size(), image.samples.size());
  for (size_t i = 0; i < image.samples.size(); ++i) {
    EXPECT_NEAR(back->samples[i], image.samples[i], 4) << i;
  }
}

TEST(ImageTest, DamagedFilesAreRefused) {
  const std::string png = EncodePng(Gradient(32, 32)), jpeg = EncodeJpeg(Gradient(32, 32));
  for (const std::string& file :
       {std::string(), std::string("GIF89a"), png.substr(0, 8), png.substr(0, png.size() / 2),
        jpeg.substr(0, 2), jpeg.substr(0, jpeg.size() / 2)}) {
    EXPECT_EQ(DecodeImage(file).status().code(), absl::StatusCode::kInvalidArgument) << file.size();
  }
}

TEST(ImageTest, EqualSizeResizesToItself) {
  const Image image = Gradient(7, 5);
  const FloatImage same = Resize(image, {7, 5});
  EXPECT_EQ(same.samples, std::vector<float>(image.samples.begin(), image.samples.end()));
}

TEST(ImageTest, ResizeEnlargesBetweenPixelCentres) {
  Image image{2, 1, {0, 0, 0, 100, 100, 100}};
  const FloatImage wide = Resize(image, {4, 1});
  const std::vector<float> expected = {0, 25, 75, 100};
  for (int x = 0; x < 4; ++x) EXPECT_FLOAT_EQ(wide.pixel(0, x)[0], expected[x]);
}

TEST(ImageTest, ResizeShrinksByATriangleOfTheTargetPixel) {
  Image image{4, 1, {0, 0, 0, 0, 0, 0, 80, 80, 80, 80, 80, 80}};
  // Half the size: weights 1:3:3:1 about each centre, without those outside the image.
  const FloatImage half = Resize(image, {2, 1});
  EXPECT_FLOAT_EQ(half.pixel(0, 0)[0], 80.0f * 1 / 7);
  EXPECT_FLOAT_EQ(half.pixel(0, 1)[0], 80.0f * 6 / 7);
}

TEST(ImageTest, CropsTheMiddle) {
  const FloatImage image = Resize(Gradient(6, 6), {6, 6});
  const FloatImage middle = CropCenter(image, {2, 4});
  EXPECT_FLOAT_EQ(middle.pixel(0, 0)[0], 8);
  EXPECT_FLOAT_EQ(middle.pixel(0, 0)[1], 4);
  EXPECT_EQ(middle.samples.size(), 24u);
}

const ImagePreset kRaw = {.name = "raw"};

TEST(ImageInputTest, FillsPlanesOrPixelsByWhereTheChannelsAre) {
  const Image image{2, 1, {1, 2, 3, 4, 5, 6}};
  const HostTensor planes = *ImageToTensor(image, kRaw, DType::kU8, {1, 3, 1, 2});
  EXPECT_TRUE(SameContent(planes, HostTensor::Of<uint8_t>(DType::kU8, {1, 3, 1, 2},
                                                          std::vector<uint8_t>{1, 4, 2, 5, 3, 6})));
  const HostTensor pixels = *ImageToTensor(image, kRaw, DType::kU8, {1, 1, 2, 3});
  EXPECT_TRUE(
      SameContent(pixels.Reshaped({6}), HostTensor::Of<uint8_t>(DType::kU8, {6}, image.samples)));
}

TEST(ImageInputTest, OpenNsfwTakesBgrLessItsMean) {
  const Image image{1, 1, {10, 20, 30}};
  const ImagePreset preset = *FindImagePreset("open-nsfw");
  const HostTensor tensor = *ImageToTensor(image, preset, DType::kF32, {1, 1, 1, 3});
  EXPECT_FLOAT_EQ(tensor.data<float>()[0], 30 - 104);
  EXPECT_FLOAT_EQ(tensor.data<float>()[1], 20 - 117);
  EXPECT_FLOAT_EQ(tensor.data<float>()[2], 10 - 123);
}

TEST(ImageInputTest, ImagenetScalesThenTakesMeanAndDeviation) {
  const Image image{8, 8, std::vector<uint8_t>(192, 255)};
  const HostTensor tensor =
      *ImageToTensor(image, *FindImagePreset("imagenet"), DType::kF32, {1, 3, 7, 7});
  EXPECT_NEAR(tensor.data<float>()[0], (1 - 0.485) / 0.229, 1e-5);
}

TEST(ImageInputTest, GrayIsTheWeightedSum) {
  const Image image{1, 1, {100, 200, 50}};
  const HostTensor tensor = *ImageToTensor(image, kRaw, DType::kF32, {1, 1, 1, 1});
  EXPECT_NEAR(tensor.data<float>()[0], 0.299 * 100 + 0.587 * 200 + 0.114 * 50, 1e-4);
}

TEST(ImageInputTest, TakesMissingDimsFromTheImage) {
  const Image image{20, 10, std::vector<uint8_t>(600)};
  EXPECT_EQ(*FillImageDims(image, {-1, 3, -1, -1}), (Dims{1, 3, 10, 20}));
  EXPECT_EQ(*FillImageDims(image, {-1, 224, -1, 3}), (Dims{1, 224, 20, 3}));
}

TEST(ImageInputTest, RefusesInputsThatAreNoImage) {
  const Image image{1, 1, {1, 2, 3}};
  EXPECT_FALSE(ImageToTensor(image, kRaw, DType::kF32, {1, 1000}).ok());
  EXPECT_FALSE(ImageToTensor(image, kRaw, DType::kF32, {1, 4, 8, 8}).ok());
  EXPECT_FALSE(ImageToTensor(image, kRaw, DType::kI64, {1, 3, 8, 8}).ok());
  EXPECT_FALSE(FindImagePreset("no-such").ok());
}

}  // namespace
}  // namespace onnx_cudnn
