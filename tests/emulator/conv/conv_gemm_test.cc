// The kernel conv_gemm, instruction by instruction, against the reference.
#include <tuple>

#include "tests/emulator/conv/emulated_conv.h"

namespace onnx_cudnn {
namespace {

class ConvGemmTest : public EmulatedConvTest {
 protected:
  // Of the activation of the sum of two convolutions with 256 filters, the second with a stride.
  // The reference rounds both before it adds them.
  std::string CompareTwoSources(const Dims& first, const Dims& second, int64_t stride) {
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, first));
    Value& z = graph_.AddInput("z", Type::Tensor(DType::kF16, second));
    Value& last = Conv(x, 256, 1, 1);
    Append(graph_, "Relu", {&Append(graph_, "Add", {&last, &Conv(z, 256, 1, stride)})});
    return Compare(CompileConvGemm, "{Conv Conv Add Relu} last last > last", 2 * kHalf);
  }
};

// 189 pixels: two tiles, the second with 61. A block keeps its weights in shared memory. Of f32:
// three slices of 32 channels, four pieces of 32 filters.
TEST_F(ConvGemmTest, OneByOneWithRelu) {
  EXPECT_EQ(CompareWithRelu(CompileConvGemm, DType::kF16, {3, 64, 7, 9}, 128, 1, kHalf), "");
  EXPECT_EQ(CompareWithRelu(CompileConvGemm, DType::kF32, {3, 96, 7, 9}, 128, 1, kTf32), "");
}

// Tiles of 256 filters, several per block. Residuals of f32 are longer than the ring of pieces.
TEST_F(ConvGemmTest, OneByOneWithResidual) {
  for (const auto& [dtype, channels, tolerance] :
       {std::tuple(DType::kBF16, 128, kBrain), {DType::kF32, 64, kTf32}}) {
    EXPECT_EQ(CompareWithResidual(CompileConvGemm, dtype, {3, channels, 14, 14}, 256, 1, 1,
                                  /*in_front=*/true, tolerance),
              "")
        << NameOf(dtype);
  }
}

// Weights that do not fit a block's shared memory: five slices, and more tiles of filters than
// blocks.
TEST_F(ConvGemmTest, OneByOneOfManyChannels) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {3, 320, 14, 14}));
  Value& r = graph_.AddInput("r", Type::Tensor(DType::kF16, {3, 256, 14, 14}));
  Append(graph_, "Add", {&Conv(x, 256, 1, 1), &r});
  EXPECT_EQ(Compare(CompileConvGemm, "{Conv Add} last last > last", kHalf), "");
}

TEST_F(ConvGemmTest, OneByOneOfManyFilters) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {4, 64, 7, 7}));
  Conv(x, 1024, 1, 1, /*has_bias=*/false);
  EXPECT_EQ(Compare(CompileConvGemm, "{Conv} last > last", kHalf), "");
}

TEST_F(ConvGemmTest, OneByOneWithItsImageAsResidual) {
  EXPECT_EQ(CompareWithItsImage(CompileConvGemm, {1, 64, 7, 7}, 1), "");
}

// 14 wide: tiles of nine rows, which span two images; three tiles of 64 filters.
TEST_F(ConvGemmTest, OneByOneOfEverySecondPixel) {
  EXPECT_EQ(CompareWithResidual(CompileConvGemm, DType::kF16, {2, 64, 28, 28}, 192, 1, 2,
                                /*in_front=*/false, kHalf),
            "");
}

TEST_F(ConvGemmTest, OneByOneOfEverySecondPixelOfAnOddWidth) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {2, 128, 6, 13}));
  Conv(x, 64, 1, 2);
  EXPECT_EQ(Compare(CompileConvGemm, "{Conv} last > last", kBrain), "");
}

TEST_F(ConvGemmTest, OneByOneOfTwoSources) {
  EXPECT_EQ(CompareTwoSources({1, 64, 12, 56}, {1, 128, 12, 56}, 1), "");
}

// The strided source comes first; its rows are 28 pixels, four per tile.
TEST_F(ConvGemmTest, OneByOneOfTwoSourcesOneStrided) {
  Value& z = graph_.AddInput("z", Type::Tensor(DType::kBF16, {1, 128, 36, 56}));
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {1, 64, 18, 28}));
  Value& branch = Conv(z, 128, 1, 2, /*has_bias=*/false);
  Append(graph_, "Add", {&Conv(x, 128, 1, 1), &branch});
  EXPECT_EQ(Compare(CompileConvGemm, "{Conv Conv Add} last last > last", 2 * kBrain), "");
}

// Six slices of 256 filters: weights are loaded with every slice.
TEST_F(ConvGemmTest, OneByOneOfTwoSourcesOfManyChannels) {
  EXPECT_EQ(CompareTwoSources({7, 256, 7, 7}, {7, 128, 14, 14}, 2), "");
}

TEST_F(ConvGemmTest, OneByOneOfF32OfManyChannels) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {3, 288, 14, 14}));
  Value& r = graph_.AddInput("r", Type::Tensor(DType::kF32, {3, 256, 14, 14}));
  Append(graph_, "Add", {&Conv(x, 256, 1, 1, /*has_bias=*/false), &r});
  EXPECT_EQ(Compare(CompileConvGemm, "{Conv Add} last last > last", kTf32), "");
}

TEST_F(ConvGemmTest, OneByOneOfF32OfTwoSourcesOneStrided) {
  Value& z = graph_.AddInput("z", Type::Tensor(DType::kF32, {1, 128, 36, 56}));
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {1, 32, 18, 28}));
  Value& branch = Conv(z, 192, 1, 2);
  Append(graph_, "Relu", {&Append(graph_, "Add", {&Conv(x, 192, 1, 1), &branch})});
  EXPECT_EQ(Compare(CompileConvGemm, "{Conv Conv Add Relu} last last > last", kTf32), "");
}

TEST_F(ConvGemmTest, OneByOneOfF32IsRefusedWhereItIsToBeExact) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {1, 64, 7, 7}));
  Conv(x, 64, 1, 1);
  ExpectNeedsTf32(CompileConvGemm, "{Conv} last > last");
}

// Images and weights are rounded to the nearest TF32 number: an operand that is rounded up by a
// quarter of the last bit and one rounded down by as much give nearly their product. The residual
// is not rounded.
TEST_F(ConvGemmTest, OneByOneOfF32RoundsToNearest) {
  const Dims dims = {1, 64, 7, 7};
  for (const double weight : {kGoesUp, kGoesDown}) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, dims));
    Value& w = graph_.AddConstant(All({64, 64, 1, 1}, weight));
    Append(graph_, "Add",
           {&Append(graph_, "Conv", {&x, &w}),
            &graph_.AddInput("r", Type::Tensor(DType::kF32, dims))});
    const Candidate candidate = Find("{Conv Add} last last > last");
    const double image = weight == kGoesUp ? kGoesDown : kGoesUp;
    EXPECT_EQ(emulator::CompareWithReference(CodeOf(CompileConvGemm, candidate), candidate,
                                             {All(dims, image), All(dims, -63.999)},
                                             /*tolerance=*/5e-3),
              "");
  }
}

// A window with a residual, run by two blocks; the last tile is partial.
TEST_F(ConvGemmTest, ThreeByThreeInEveryTile) {
  target_with_few_blocks_.info.multiprocessors = 2;
  for (const std::string tile :
       {"128x128", "128x64", "256x128", "192x128", "128x128 ping-pong", "256x64 ping-pong"}) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {3, 64, 10, 11}));
    Value& r = graph_.AddInput("r", Type::Tensor(DType::kF16, {3, 128, 10, 11}));
    Append(graph_, "Relu", {&Append(graph_, "Add", {&Conv(x, 128, 3, 1), &r})});
    EXPECT_EQ(Compare(CompileConvGemm, "{Conv Add Relu} last last > last", kHalf, "tile=" + tile),
              "")
        << tile;
  }
}

// Without residuals, pieces wait only for those being stored.
TEST_F(ConvGemmTest, ThreeByThreeOfEverySecondPixel) {
  target_with_few_blocks_.info.multiprocessors = 2;
  for (const std::string tile : {"tile=128x128", "tile=192x128", "tile=256x128",
                                 "tile=128x128 ping-pong", "tile=256x64 ping-pong"}) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {5, 64, 17, 22}));
    Append(graph_, "Relu", {&Conv(x, 128, 3, 2)});
    EXPECT_EQ(Compare(CompileConvGemm, "{Conv Relu} last > last", kBrain, tile), "") << tile;
  }
}

TEST_F(ConvGemmTest, ThreeByThreeOfF32) {
  for (const std::string tile : {"tile=128x128", "tile=256x128", "tile=192x128",
                                 "tile=128x128 ping-pong", "tile=256x64 ping-pong"}) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {6, 32, 9, 12}));
    Value& r = graph_.AddInput("r", Type::Tensor(DType::kF32, {6, 128, 9, 12}));
    Append(graph_, "Relu", {&Append(graph_, "Add", {&Conv(x, 128, 3, 1), &r})});
    EXPECT_EQ(Compare(CompileConvGemm, "{Conv Add Relu} last last > last", kTf32, tile), "")
        << tile;
  }
}

// ResNet-18's last convolution of a block with the downsample branch, which is loaded in im2col
// mode too; as tiled boxes it would be whole rows.
TEST_F(ConvGemmTest, ThreeByThreeWithAStridedSource) {
  for (const std::string tile : {"tile=128x128", "tile=256x128", "tile=128x128 ping-pong"}) {
    graph_ = Graph();
    Value& z = graph_.AddInput("z", Type::Tensor(DType::kF16, {3, 64, 20, 18}));
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {3, 64, 10, 9}));
    Value& last = Conv(x, 128, 3, 1);
    Append(graph_, "Relu", {&Append(graph_, "Add", {&last, &Conv(z, 128, 1, 2)})});
    EXPECT_EQ(Compare(CompileConvGemm, "{Conv Conv Add Relu} last last > last", 2 * kHalf, tile),
              "")
        << tile;
  }
}

// Pads, strides and sides that differ between rows and columns.
TEST_F(ConvGemmTest, OddWindows) {
  struct Case {
    Dims image;
    int64_t kernel_h, kernel_w;
    Ints pads, strides;
  };
  const Case cases[] = {
      {{2, 64, 9, 14}, 5, 2, {2, 0, 1, 1}, {1, 3}}, {{3, 64, 7, 7}, 1, 3, {0, 1, 0, 1}, {2, 1}},
      {{2, 64, 8, 8}, 7, 7, {3, 3, 3, 3}, {2, 2}},  {{2, 64, 6, 5}, 2, 2, {2, 2, 3, 3}, {1, 1}},
      {{3, 64, 9, 9}, 1, 1, {0, 0, 0, 0}, {3, 3}},  {{3, 64, 5, 5}, 1, 1, {1, 1, 1, 1}, {1, 1}},
      {{1, 64, 2, 260}, 1, 1, {0, 0, 0, 0}, {2, 2}}};
  for (const Case& test : cases) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, test.image));
    Value& w = Weights(graph_, DType::kF16, {64, 64, test.kernel_h, test.kernel_w});
    Append(graph_, "Conv", {&x, &w}, {{"pads", test.pads}, {"strides", test.strides}});
    EXPECT_EQ(Compare(CompileConvGemm, "{Conv} last > last", kHalf, "tile=128x64"), "")
        << test.kernel_h << "x" << test.kernel_w;
  }
}

// The warpgroups of a block process more tiles than there are slice buffers between them.
TEST_F(ConvGemmTest, OneByOneInWideTiles) {
  target_with_few_blocks_.info.multiprocessors = 2;
  for (const std::string tile : {"tile=256x128", "tile=192x128", "tile=128x128 ping-pong"}) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {11, 64, 16, 15}));
    Conv(x, 128, 1, 1);
    EXPECT_EQ(Compare(CompileConvGemm, "{Conv} last > last", kHalf, tile), "") << tile;
  }
}

TEST_F(ConvGemmTest, RefusesTilesOfMoreFilters) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {1, 64, 7, 7}));
  Conv(x, 64, 1, 1);
  const Candidate candidate = Find("{Conv} last > last");
  EXPECT_EQ(CodeOf(CompileConvGemm, candidate, "tile=256x128").status().message(),
            "there is no code for 64 filters in tiles of tile=256x128");
}

}  // namespace
}  // namespace onnx_cudnn
