// The convolution kernels on tensor cores, instruction by instruction, against the reference.
#include <limits>

#include "tests/emulator/conv/emulated_conv.h"

namespace onnx_cudnn {
namespace {

using TensorCoreConvTest = EmulatedConvTest;

TEST_F(TensorCoreConvTest, StemOfACallersImage) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {2, 3, 16, 224}));
  Value& half = Append(graph_, "Cast", {&x}, {{"to", int64_t{10}}});
  MaxPool(graph_, Append(graph_, "Relu", {&Conv(half, 64, 7, 2)}));
  EXPECT_EQ(Compare(CompileStemPool, "{Cast Conv Relu MaxPool} rows > last", kHalf), "");
}

TEST_F(TensorCoreConvTest, StemOfHalfs) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {1, 3, 12, 224}));
  MaxPool(graph_, Append(graph_, "Relu", {&Conv(x, 64, 7, 2, /*has_bias=*/false)}));
  EXPECT_EQ(Compare(CompileStemPool, "{Conv Relu MaxPool} rows > last", kHalf), "");
}

TEST_F(TensorCoreConvTest, StemOfBrainFloats) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {1, 3, 8, 224}));
  MaxPool(graph_, Append(graph_, "Relu", {&Conv(x, 64, 7, 2)}));
  EXPECT_EQ(Compare(CompileStemPool, "{Conv Relu MaxPool} rows > last", kBrain), "");
}

// As in a DenseNet, whose first block joins channels to the stem's.
TEST_F(TensorCoreConvTest, StemBesideOthers) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {2, 3, 12, 224}));
  Value& stem = MaxPool(graph_, Append(graph_, "Relu", {&Conv(x, 64, 7, 2)}));
  Value& other = graph_.AddInput("z", Type::Tensor(DType::kF16, {2, 32, 3, 56}));
  Value& joined =
      Append(graph_, "Concat", {&stem, &Append(graph_, "Relu", {&other})}, {{"axis", int64_t{1}}});
  Append(graph_, "Relu", {&joined});
  EXPECT_EQ(Compare(CompileStemPool, "{Conv Relu MaxPool} rows > 0:2 2:3 3:56 1:64^96", kHalf), "");
}

TEST_F(TensorCoreConvTest, StemOfF32) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {2, 3, 16, 224}));
  MaxPool(graph_, Append(graph_, "Relu", {&Conv(x, 64, 7, 2)}));
  EXPECT_EQ(Compare(CompileStemPool, "{Conv Relu MaxPool} rows > last", kTf32), "");
}

// Two streams of 7 and 8 rows of three images, which wrap around their ring buffers.
TEST_F(TensorCoreConvTest, StemOfF32OfLongRuns) {
  target_with_few_blocks_.info.multiprocessors = 1;
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {3, 3, 20, 224}));
  MaxPool(graph_, Append(graph_, "Relu", {&Conv(x, 64, 7, 2, /*has_bias=*/false)}));
  EXPECT_EQ(Compare(CompileStemPool, "{Conv Relu MaxPool} rows > last", kTf32), "");
}

// An image rounded up by a quarter of TF32's last bit and weights rounded down by as much give
// nearly their product, and vice versa.
TEST_F(TensorCoreConvTest, StemOfF32RoundsToNearest) {
  const Dims dims = {1, 3, 8, 224};
  for (const double weight : {kGoesUp, kGoesDown}) {
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, dims));
    Value& w = graph_.AddConstant(All({64, 3, 7, 7}, weight));
    Value& y =
        Append(graph_, "Conv", {&x, &w}, {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}});
    MaxPool(graph_, Append(graph_, "Relu", {&y}));
    const Candidate candidate = Find("{Conv Relu MaxPool} rows > last");
    const HostTensor image = All(dims, weight == kGoesUp ? kGoesDown : kGoesUp);
    EXPECT_EQ(emulator::CompareWithReference(CodeOf(CompileStemPool, candidate), candidate, {image},
                                             /*tolerance=*/1e-4),
              "");
  }
}

TEST_F(TensorCoreConvTest, StemOfF32IsRefusedWhereItIsToBeExact) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {1, 3, 8, 224}));
  MaxPool(graph_, Append(graph_, "Relu", {&Conv(x, 64, 7, 2)}));
  ExpectNeedsTf32(CompileStemPool, "{Conv Relu MaxPool} rows > last");
}

// The pool windows of the last row contain only NaNs. In an odd column and row, no other window of
// the convolution reads the NaN with a weight of zero.
TEST_F(TensorCoreConvTest, StemTakesANaNForTheLeastNumber) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    SCOPED_TRACE(NameOf(dtype));
    graph_ = Graph();
    Value& x = graph_.AddInput("x", Type::Tensor(dtype, {1, 3, 12, 224}));
    MaxPool(graph_, Append(graph_, "Relu", {&Conv(x, 64, 7, 2)}));
    const Candidate candidate = Find("{Conv Relu MaxPool} rows > last");
    std::vector<double> pixels = Pattern(x.elements(), 7);
    pixels[11 * 224 + 101] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(emulator::CompareWithReference(CodeOf(CompileStemPool, candidate), candidate,
                                             {TensorOf(dtype, x.dims(), pixels)},
                                             dtype == DType::kBF16 ? kBrain : kTf32),
              "");
  }
}

TEST_F(TensorCoreConvTest, ThreeByThreeWithRelu) {
  EXPECT_EQ(CompareWithRelu(CompileConv3x3, DType::kF16, {2, 64, 14, 56}, 64, 3, kHalf), "");
}

TEST_F(TensorCoreConvTest, ThreeByThreeOfAHeightThatIsNoWholeTiles) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {1, 64, 10, 56}));
  Conv(x, 64, 3, 1, /*has_bias=*/false);
  EXPECT_EQ(Compare(CompileConv3x3, "{Conv} last > last", kBrain), "");
}

TEST_F(TensorCoreConvTest, ThreeByThreeWithResidual) {
  EXPECT_EQ(CompareWithResidual(CompileConv3x3, DType::kF16, {3, 64, 12, 56}, 64, 3, 1,
                                /*in_front=*/false, kHalf),
            "");
}

TEST_F(TensorCoreConvTest, ThreeByThreeWithItsImageAsResidual) {
  EXPECT_EQ(CompareWithItsImage(CompileConv3x3, {1, 64, 7, 56}, 3), "");
}

}  // namespace
}  // namespace onnx_cudnn
