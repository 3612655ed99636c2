// classify MODEL IMAGE.ppm [LABELS]: prints the three best classes of an image for a model with one
// input f32[N,3,H,W] of channels from 0 to 1 and one output f32[N,CLASSES].
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "onnx_cudnn/session.h"

namespace {

struct Image {
  int64_t width = 0, height = 0;
  std::vector<unsigned char> rgb;  // row by row
};

std::optional<Image> ReadPpm(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  Image image;
  int64_t most = 0;
  file >> magic >> image.width >> image.height >> most;
  file.get();
  const bool fits =
      std::min(image.width, image.height) > 0 && std::max(image.width, image.height) < 1 << 14;
  if (!file || magic != "P6" || most != 255 || !fits) return std::nullopt;
  image.rgb.resize(3 * image.width * image.height);
  file.read(reinterpret_cast<char*>(image.rgb.data()),
            static_cast<std::streamsize>(image.rgb.size()));
  return file ? std::optional(std::move(image)) : std::nullopt;
}

// The nearest pixel of each of height x width, as planes of channels.
std::vector<float> Planes(const Image& image, int64_t height, int64_t width) {
  std::vector<float> planes;
  for (int64_t channel = 0; channel < 3; ++channel) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const int64_t pixel = y * image.height / height * image.width + x * image.width / width;
        planes.push_back(static_cast<float>(image.rgb[3 * pixel + channel]) / 255);
      }
    }
  }
  return planes;
}

int Fail(const std::string& message) { return std::fprintf(stderr, "%s\n", message.c_str()), 1; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return Fail("usage: classify MODEL IMAGE.ppm [LABELS]");
  auto session = onnx_cudnn::Session::Load(argv[1]);
  if (!session.ok()) return Fail(session.error().message);
  const auto& dims = session.value().inputs()[0].dims;
  if (dims.size() != 4 || dims[1].value != 3 || dims[2].value < 1 || dims[3].value < 1)
    return Fail("expected an input [N,3,H,W], found " + ToString(session.value().inputs()[0]));
  const std::optional<Image> image = ReadPpm(argv[2]);
  if (!image) return Fail(std::string(argv[2]) + ": expected a PPM image (P6, 255)");

  const std::vector<float> planes = Planes(*image, dims[2].value, dims[3].value);
  auto outputs =
      session.value().Run({onnx_cudnn::View(planes.data(), {1, 3, dims[2].value, dims[3].value})});
  if (!outputs.ok()) return Fail(outputs.error().message);

  const onnx_cudnn::Tensor& scores = outputs.value()[0];
  if (scores.dtype() != onnx_cudnn::DType::kF32) return Fail("expected scores in f32");
  std::vector<std::string> labels;
  std::ifstream file(argc > 3 ? argv[3] : "");
  for (std::string line; std::getline(file, line);) labels.push_back(line);
  std::vector<size_t> order(scores.elements());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return scores.data<float>()[a] > scores.data<float>()[b];
  });
  for (size_t i = 0; i < std::min<size_t>(order.size(), 3); ++i)
    std::printf(
        "%g %s\n", scores.data<float>()[order[i]],
        order[i] < labels.size() ? labels[order[i]].c_str() : std::to_string(order[i]).c_str());
  return 0;
}
