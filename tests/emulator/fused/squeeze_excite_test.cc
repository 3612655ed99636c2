// Squeeze-and-excitation blocks as one launch: shapes of channels and pixels, types, activations.
#include "absl/strings/str_cat.h"
#include "tests/emulator/fused/average_block.h"

namespace onnx_cudnn {
namespace {

constexpr double kHalf = 4e-3, kBrain = 1.6e-2;

struct Block {
  DType dtype = DType::kF16;
  Dims dims;  // of the image
  int64_t hidden;
  bool multiplies = false;
  std::string activation = "Relu";  // "": none
  std::string gate = "Sigmoid";
  Attrs gate_attrs = {};
  bool has_bias = true;
};

class SqueezeExciteCodeTest : public AverageBlockTest {
 protected:
  // A 1 × 1 convolution of small weights.
  Value& Convolve(Value& x, int64_t filters, bool has_bias) {
    std::vector<double> numbers = Pattern(filters * x.dim(1), static_cast<uint32_t>(filters));
    for (double& number : numbers) number /= 4;
    Value& w = graph_.AddConstant(TensorOf(x.dtype(), {filters, x.dim(1), 1, 1}, numbers));
    if (!has_bias) return Append(graph_, "Conv", {&x, &w});
    return Append(graph_, "Conv", {&x, &w, &Weights(graph_, x.dtype(), {filters})});
  }

  Value& Activate(Value& x, const std::string& activation) {
    if (activation.empty()) return x;
    return Append(graph_, activation, {&x});
  }

  std::string CompareAll(const std::vector<double>& numbers, double tolerance) {
    return AverageBlockTest::Compare(CompileSqueezeExcite, numbers, tolerance);
  }

  std::string Compare(const Block& block) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(block.dtype, block.dims));
    Value& squeezed =
        Convolve(Append(graph_, "GlobalAveragePool", {&x}), block.hidden, block.has_bias);
    Value& excited = Convolve(Activate(squeezed, block.activation), block.dims[1], block.has_bias);
    Value& gates = Append(graph_, block.gate, {&excited}, block.gate_attrs);
    if (block.multiplies) Append(graph_, "Mul", {&gates, &x});
    // Averages of several sizes and both signs.
    std::vector<double> numbers = Pattern(x.elements(), 7);
    const size_t pixels = numbers.size() / (block.dims[0] * block.dims[1]);
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] += (static_cast<double>(i / pixels % 5) - 2) / 2;
    }
    return CompareAll(numbers, block.dtype == DType::kF16 ? kHalf : kBrain);
  }
};

TEST_F(SqueezeExciteCodeTest, TypesImagesAndChannels) {
  struct Channels {
    int64_t all, hidden;
  };
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const Channels c : {Channels{96, 24}, Channels{24, 6}, Channels{384, 96}}) {
      for (const int64_t images : {1, 3}) {
        for (const bool multiplies : {false, true}) {
          const Block block = {.dtype = dtype,
                               .dims = {images, c.all, 5, 7},
                               .hidden = c.hidden,
                               .multiplies = multiplies};
          EXPECT_EQ(Compare(block), "")
              << NameOf(dtype) << " " << images << " " << c.all << " " << multiplies;
        }
      }
    }
  }
}

// Threads without pixels, and lanes with one, a few and more than one round of loads.
TEST_F(SqueezeExciteCodeTest, Pixels) {
  for (const Dims& pixels : {Dims{1, 1}, Dims{3, 3}, Dims{12, 80}, Dims{101, 91}}) {
    EXPECT_EQ(Compare({.dims = {1, 24, pixels[0], pixels[1]}, .hidden = 6, .multiplies = true}), "")
        << ToString(absl::MakeConstSpan(pixels));
  }
}

// The fewest and the most channels that the kernel supports: in both products some rows and lanes
// have no work, or more than what is prefetched.
TEST_F(SqueezeExciteCodeTest, Channels) {
  for (const int64_t channels : {8, 2048}) {
    for (const int64_t hidden : {1, 12, 512}) {
      for (const bool multiplies : {false, true}) {
        EXPECT_EQ(
            Compare({.dims = {1, channels, 5, 3}, .hidden = hidden, .multiplies = multiplies}), "")
            << channels << " " << hidden << " " << multiplies;
      }
    }
  }
}

TEST_F(SqueezeExciteCodeTest, ActivationsAndBiases) {
  const Attrs steep = {{"alpha", 0.25F}, {"beta", 0.375F}};
  for (const std::string activation : {"", "Relu", "Swish"}) {
    for (const bool has_bias : {false, true}) {
      Block block = {.dims = {2, 40, 4, 3}, .hidden = 10, .multiplies = true};
      block.activation = activation;
      block.has_bias = has_bias;
      EXPECT_EQ(Compare(block), "") << activation << " " << has_bias;
      block.gate = "HardSigmoid";
      EXPECT_EQ(Compare(block), "") << activation << " " << has_bias;
      block.gate_attrs = steep;
      EXPECT_EQ(Compare(block), "") << activation << " " << has_bias;
    }
  }
}

// 1 + 2^-11, the average of 1 and 1 + 2^-10, is 1 in f16: Σ ± average is 0, and not 2^-9, which the
// second product would scale to 1.
TEST_F(SqueezeExciteCodeTest, RoundsAverages) {
  std::vector<double> numbers, signs;
  for (int channel = 0; channel < 8; ++channel) {
    numbers.insert(numbers.end(), {1, channel % 2 == 0 ? 1 + 0x1p-10 : 1});
    signs.push_back(channel % 2 == 0 ? 1 : -1);
  }
  const auto weights = [&](const Dims& dims, const std::vector<double>& w) -> Value& {
    return graph_.AddConstant(TensorOf(DType::kF16, dims, w));
  };
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {1, 8, 1, 2}));
  Value& hidden = Append(
      graph_, "Conv", {&Append(graph_, "GlobalAveragePool", {&x}), &weights({1, 8, 1, 1}, signs)});
  Append(graph_, "HardSigmoid",
         {&Append(graph_, "Conv", {&hidden, &weights({8, 1, 1, 1}, std::vector<double>(8, 512))})});
  EXPECT_EQ(CompareAll(numbers, 0), "");
}

}  // namespace
}  // namespace onnx_cudnn
