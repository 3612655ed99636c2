// Averages and the product that follows as one launch: all numbers of images, shapes of channels
// and pixels.
#include "absl/strings/str_cat.h"
#include "tests/emulator/fused/average_block.h"

namespace onnx_cudnn {
namespace {

// The numbers of Pattern, averages of 16 of them and their sums are exact in f32, so that results
// are equal, bit by bit. Other averages round.
constexpr double kHalf = 1e-3, kBrain = 8e-3;

class PoolGemvCodeTest : public AverageBlockTest {
 protected:
  // GlobalAveragePool, Flatten, Gemm with a bias.
  Value& Tail(DType dtype, const Dims& dims, int64_t columns) {
    Value& x = graph_.AddInput("x", Type::Tensor(dtype, dims));
    Value& rows = Append(graph_, "Flatten", {&Append(graph_, "GlobalAveragePool", {&x})});
    return Append(
        graph_, "Gemm",
        {&rows, &Weights(graph_, dtype, {columns, dims[1]}), &Weights(graph_, dtype, {columns})},
        {{"transB", int64_t{1}}});
  }

  std::string Compare(const std::vector<double>& numbers, double tolerance) {
    return AverageBlockTest::Compare(CompilePoolGemv, numbers, tolerance);
  }
  std::string Compare(double tolerance) {
    return Compare(Pattern(graph_.inputs()[0]->elements(), 7), tolerance);
  }
};

TEST_F(PoolGemvCodeTest, ImagesAndTypes) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const int64_t images : {1, 2, 3, 5, 8}) {
      graph_ = Graph();
      Tail(dtype, {images, 64, 4, 4}, 11);
      EXPECT_EQ(Compare(0), "") << NameOf(dtype) << " " << images;
    }
  }
}

// One, two and four warps share the channels of a block; some of the last vectors do not exist.
TEST_F(PoolGemvCodeTest, Channels) {
  for (const int64_t channels : {8, 512, 520, 1000, 2048}) {
    for (const int64_t images : {1, 4}) {
      graph_ = Graph();
      Tail(DType::kF16, {images, channels, 4, 4}, 70);
      EXPECT_EQ(Compare(0), "") << channels << " " << images;
    }
  }
}

TEST_F(PoolGemvCodeTest, ColumnsOfSeveralClusters) {
  for (const int64_t columns : {1, 256, 257}) {
    graph_ = Graph();
    Tail(DType::kF16, {2, 64, 2, 2}, columns);
    EXPECT_EQ(Compare(0), "") << columns;
  }
}

// Fewer pixels than lanes for them, and rounds of four and eight loads.
TEST_F(PoolGemvCodeTest, Pixels) {
  for (const Dims& pixels : {Dims{1, 1}, Dims{7, 7}, Dims{14, 14}, Dims{256, 1}, Dims{3}}) {
    for (const int64_t channels : {512, 2048}) {
      if (channels * ElementsOf(pixels) > 131'072) continue;  // is left to two launches
      graph_ = Graph();
      Dims dims = {1, channels};
      dims.insert(dims.end(), pixels.begin(), pixels.end());
      Tail(DType::kF16, dims, 9);
      EXPECT_EQ(Compare(kHalf), "") << ToString(absl::MakeConstSpan(dims));
    }
  }
}

TEST_F(PoolGemvCodeTest, MorePixelsThanItsPriceIsFittedTo) {
  Tail(DType::kF16, {2, 64, 40, 41}, 9);
  EXPECT_EQ(Compare(kHalf), "");
}

TEST_F(PoolGemvCodeTest, PixelsOfEightImages) {
  Tail(DType::kBF16, {8, 256, 8, 8}, 40);
  EXPECT_EQ(Compare(kBrain), "");
}

TEST_F(PoolGemvCodeTest, BiasReluAndCastAfterAMatMul) {  // the bias is added to a rounded product
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {3, 128, 4, 4}));
  Value& pooled = Append(graph_, "GlobalAveragePool", {&x});
  Value& shape = graph_.AddConstant(HostTensor::Ints({{1, 3, 128}}));
  Value& product = Append(
      graph_, "MatMul",
      {&Append(graph_, "Reshape", {&pooled, &shape}), &Weights(graph_, DType::kF16, {128, 10})});
  Value& sum = Append(graph_, "Add", {&Weights(graph_, DType::kF16, {10}), &product});
  Append(graph_, "Cast", {&Append(graph_, "Relu", {&sum})}, {{"to", int64_t{1}}});
  EXPECT_EQ(Compare(0), "");
}

// 1 + 2^-11, the average of 1 and 1 + 2^-10, is 1 in f16: Σ ± average is 0, and not 2^-9.
TEST_F(PoolGemvCodeTest, RoundsAveragesBeforeTheProduct) {
  std::vector<double> numbers, signs;
  for (int channel = 0; channel < 8; ++channel) {
    numbers.insert(numbers.end(), {1, channel % 2 == 0 ? 1 + 0x1p-10 : 1});
    signs.push_back(channel % 2 == 0 ? 1 : -1);
  }
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {1, 8, 1, 2}));
  Value& rows = Append(graph_, "Flatten", {&Append(graph_, "GlobalAveragePool", {&x})});
  Append(graph_, "MatMul", {&rows, &graph_.AddConstant(TensorOf(DType::kF16, {8, 1}, signs))});
  EXPECT_EQ(Compare(numbers, 0), "");
}

}  // namespace
}  // namespace onnx_cudnn
