// The convolution kernels on tensor cores, instruction by instruction, against the reference.
#include <algorithm>

#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using Ints = std::vector<int64_t>;

// f16 and bf16 round to 11 and 8 bits; sums are f32 on both sides.
constexpr double kHalf = 1e-3, kBrain = 8e-3;

class TensorCoreConvTest : public KernelsTest {
 protected:
  TensorCoreConvTest() { target_with_few_blocks_.info.multiprocessors = 3; }

  Value& Conv(Value& x, int64_t filters, int64_t kernel, int64_t stride, bool has_bias = true) {
    const int64_t pad = kernel / 2;
    std::vector<Value*> inputs = {&x,
                                  &Weights(graph_, x.dtype(), {filters, x.dim(1), kernel, kernel})};
    if (has_bias) inputs.push_back(&Weights(graph_, x.dtype(), {filters}));
    return Append(graph_, "Conv", inputs,
                  {{"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}});
  }
  Value& MaxPool(Value& x) {
    return Append(
        graph_, "MaxPool", {&x},
        {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}});
  }

  // The Candidate around the first Conv that Describe starts so with.
  Candidate Find(std::string_view line) {
    graph_.AddOutput("y", *graph_.TopologicalOrder().back()->outputs()[0]);
    for (const Candidate& c : At(graph_, "Conv").candidates) {
      if (Describe(c).starts_with(line)) return c;
    }
    ADD_FAILURE() << "nothing is proposed as " << line;
    return {};
  }

  // Numbers of both signs for every input of the Candidate.
  static std::vector<HostTensor> InputsOf(const Candidate& candidate) {
    std::vector<HostTensor> inputs;
    for (const Value* v : BoundaryOf(candidate.nodes).inputs) {
      inputs.push_back(TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), inputs.size() + 7)));
    }
    return inputs;
  }

  std::string Compare(CompileKernel compile, std::string_view line, double tolerance) {
    const Candidate candidate = Find(line);
    const Unit unit = UnitOf(candidate.nodes);
    const auto code = compile({unit, candidate, target_with_few_blocks_, ""});
    return emulator::CompareWithReference(code, candidate, InputsOf(candidate), tolerance);
  }

  Graph graph_;
  Target target_with_few_blocks_ = target_;
};

TEST_F(TensorCoreConvTest, StemOfACallersImage) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF32, {2, 3, 16, 224}));
  Value& half = Append(graph_, "Cast", {&x}, {{"to", int64_t{10}}});
  MaxPool(Append(graph_, "Relu", {&Conv(half, 64, 7, 2)}));
  EXPECT_EQ(Compare(CompileStemPool, "{Cast Conv Relu MaxPool} rows > last", kHalf), "");
}

TEST_F(TensorCoreConvTest, StemOfHalfs) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {1, 3, 12, 224}));
  MaxPool(Append(graph_, "Relu", {&Conv(x, 64, 7, 2, /*has_bias=*/false)}));
  EXPECT_EQ(Compare(CompileStemPool, "{Conv Relu MaxPool} rows > last", kHalf), "");
}

TEST_F(TensorCoreConvTest, StemOfBrainFloats) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {1, 3, 8, 224}));
  MaxPool(Append(graph_, "Relu", {&Conv(x, 64, 7, 2)}));
  EXPECT_EQ(Compare(CompileStemPool, "{Conv Relu MaxPool} rows > last", kBrain), "");
}

TEST_F(TensorCoreConvTest, ThreeByThreeWithRelu) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {2, 64, 14, 56}));
  Append(graph_, "Relu", {&Conv(x, 64, 3, 1)});
  EXPECT_EQ(Compare(CompileConv3x3, "{Conv Relu} last > last", kHalf), "");
}

TEST_F(TensorCoreConvTest, ThreeByThreeOfAHeightThatIsNoWholeTiles) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {1, 64, 10, 56}));
  Conv(x, 64, 3, 1, /*has_bias=*/false);
  EXPECT_EQ(Compare(CompileConv3x3, "{Conv} last > last", kBrain), "");
}

TEST_F(TensorCoreConvTest, ThreeByThreeWithResidual) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {3, 64, 12, 56}));
  Value& r = graph_.AddInput("r", Type::Tensor(DType::kF16, {3, 64, 12, 56}));
  Value& sum = Append(graph_, "Add", {&Conv(x, 64, 3, 1), &r});
  Append(graph_, "Relu", {&sum});
  EXPECT_EQ(Compare(CompileConv3x3, "{Conv Add Relu} last last > last", kHalf), "");
}

TEST_F(TensorCoreConvTest, ThreeByThreeWhoseResidualIsItsImage) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {1, 64, 7, 56}));
  Append(graph_, "Add", {&x, &Conv(x, 64, 3, 1)});
  EXPECT_EQ(Compare(CompileConv3x3, "{Conv Add}", kHalf), "");
}

// 189 pixels: two tiles, the second of 61. A block keeps its weights.
TEST_F(TensorCoreConvTest, OneByOneWithRelu) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {3, 64, 7, 9}));
  Append(graph_, "Relu", {&Conv(x, 128, 1, 1)});
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv Relu} last > last", kHalf), "");
}

// Tiles of 256 filters, several a block.
TEST_F(TensorCoreConvTest, OneByOneWithResidual) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {3, 128, 14, 14}));
  Value& r = graph_.AddInput("r", Type::Tensor(DType::kBF16, {3, 256, 14, 14}));
  Value& sum = Append(graph_, "Add", {&r, &Conv(x, 256, 1, 1)});
  Append(graph_, "Relu", {&sum});
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv Add Relu} last last > last", kBrain), "");
}

// Weights that no block can keep: of five slices, and of more tiles of filters than blocks.
TEST_F(TensorCoreConvTest, OneByOneOfManyChannels) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {3, 320, 14, 14}));
  Value& r = graph_.AddInput("r", Type::Tensor(DType::kF16, {3, 256, 14, 14}));
  Append(graph_, "Add", {&Conv(x, 256, 1, 1), &r});
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv Add} last last > last", kHalf), "");
}

TEST_F(TensorCoreConvTest, OneByOneOfManyFilters) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {4, 64, 7, 7}));
  Conv(x, 1024, 1, 1, /*has_bias=*/false);
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv} last > last", kHalf), "");
}

TEST_F(TensorCoreConvTest, OneByOneWhoseResidualIsItsImage) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {1, 64, 7, 7}));
  Append(graph_, "Add", {&x, &Conv(x, 64, 1, 1)});
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv Add}", kHalf), "");
}

// 14 wide: tiles of nine rows, which lie in two images; three tiles of 64 filters.
TEST_F(TensorCoreConvTest, OneByOneOfEverySecondPixel) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {2, 64, 28, 28}));
  Value& r = graph_.AddInput("r", Type::Tensor(DType::kF16, {2, 192, 14, 14}));
  Value& sum = Append(graph_, "Add", {&Conv(x, 192, 1, 2), &r});
  Append(graph_, "Relu", {&sum});
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv Add Relu} last last > last", kHalf), "");
}

TEST_F(TensorCoreConvTest, OneByOneOfEverySecondPixelOfAnOddWidth) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {2, 128, 6, 13}));
  Conv(x, 64, 1, 2);
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv} last > last", kBrain), "");
}

// The reference rounds both convolutions before it adds them.
TEST_F(TensorCoreConvTest, OneByOneOfTwoSources) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {1, 64, 12, 56}));
  Value& z = graph_.AddInput("z", Type::Tensor(DType::kF16, {1, 128, 12, 56}));
  Value& last = Conv(x, 256, 1, 1);
  Append(graph_, "Relu", {&Append(graph_, "Add", {&last, &Conv(z, 256, 1, 1)})});
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv Conv Add Relu} last last > last", 2 * kHalf), "");
}

// The strided source stands first; its rows are 28 pixels, four to a tile.
TEST_F(TensorCoreConvTest, OneByOneOfTwoSourcesOneStrided) {
  Value& z = graph_.AddInput("z", Type::Tensor(DType::kBF16, {1, 128, 36, 56}));
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kBF16, {1, 64, 18, 28}));
  Value& branch = Conv(z, 128, 1, 2, /*has_bias=*/false);
  Append(graph_, "Add", {&Conv(x, 128, 1, 1), &branch});
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv Conv Add} last last > last", 2 * kBrain), "");
}

// Six slices of 256 filters: weights come with every slice.
TEST_F(TensorCoreConvTest, OneByOneOfTwoSourcesOfManyChannels) {
  Value& x = graph_.AddInput("x", Type::Tensor(DType::kF16, {7, 256, 7, 7}));
  Value& z = graph_.AddInput("z", Type::Tensor(DType::kF16, {7, 128, 14, 14}));
  Value& last = Conv(x, 256, 1, 1);
  Append(graph_, "Relu", {&Append(graph_, "Add", {&last, &Conv(z, 256, 1, 2)})});
  EXPECT_EQ(Compare(CompileConv1x1, "{Conv Conv Add Relu} last last > last", 2 * kHalf), "");
}

}  // namespace
}  // namespace onnx_cudnn
