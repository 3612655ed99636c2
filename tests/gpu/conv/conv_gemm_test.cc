// The kernel conv_gemm with several tiles per block.
#include <algorithm>

#include "tests/gpu/conv/conv_gemm_cases.h"
#include "tests/gpu/kernel_test.h"

namespace onnx_cudnn {
namespace {

class ConvGemmTest : public KernelTest {
 protected:
  ConvGemmTest() : KernelTest(kSm90aCode) {}

  // Runs all Nodes as one launch of each of our kernels that supports them, conv_gemm among them,
  // and compares with the reference, which takes seconds.
  void Check(const ConvGemmCase& test, int64_t batch) {
    if (IsEmulated()) GTEST_SKIP() << "is about many blocks";
    SCOPED_TRACE(test.Name());
    const Graph graph = GraphWithWeights(test.Text(batch));
    const Target target = Tf32Target();
    const std::vector<Candidate> candidates = OfAllNodes(graph, "Conv", target);
    for (const Candidate& candidate : candidates) EXPECT_TRUE(IsOfConvGemm(candidate, target));
    EXPECT_GT(CheckAll(graph, candidates, target), 0);
  }

 private:
  static bool IsOfConvGemm(const Candidate& candidate, const Target& target) {
    const auto variants = candidate.engine->Variants(candidate, target);
    return variants.ok() &&
           std::any_of(variants->begin(), variants->end(), [](const Variant& variant) {
             return variant.text.starts_with("conv_gemm");
           });
  }
};

// Several tiles for each of 132 blocks.
int64_t BatchOf(const ConvGemmCase& test) {
  return test.side == 56 ? 16 : test.side == 28 ? 32 : 64;
}

TEST_F(ConvGemmTest, OfResNet50) {
  for (const ConvGemmCase& test : ResNet50Conv1x1Cases()) Check(test, BatchOf(test));
}

TEST_F(ConvGemmTest, OfResNet50InTf32) {
  for (const ConvGemmCase& test : ResNet50Conv1x1Cases(/*is_f32=*/true)) Check(test, BatchOf(test));
}

TEST_F(ConvGemmTest, ThreeByThree) {
  for (const ConvGemmCase& test : ResNetConv3x3Cases()) Check(test, 2 * BatchOf(test));
}

TEST_F(ConvGemmTest, ThreeByThreeInTf32) {
  for (const ConvGemmCase& test : ResNetConv3x3Cases(/*is_f32=*/true)) Check(test, BatchOf(test));
}

// 1 × 1, with a second source of twice the sides.
ConvGemmCase TwoSources(int64_t channels, int64_t filters, int64_t side, int64_t other_channels) {
  return {.channels = channels,
          .filters = filters,
          .side = side,
          .other_channels = other_channels,
          .other_stride = 2};
}

ConvGemmCase InTf32(ConvGemmCase test) {
  test.is_f32 = true;
  return test;
}

// The last tile of pixels is partial; 64 and 128 filters per tile.
TEST_F(ConvGemmTest, OfOtherShapes) {
  const ConvGemmCase residual = {.channels = 192, .filters = 64, .side = 17, .has_residual = true};
  Check(residual, 67);
  Check(TwoSources(448, 64, 30, 64), 33);
  Check({.channels = 64, .filters = 384, .side = 23, .has_residual = true}, 65);
  Check(TwoSources(320, 640, 10, 320), 63);
}

TEST_F(ConvGemmTest, OfOtherShapesInTf32) {
  Check({.channels = 96, .filters = 64, .side = 17, .has_residual = true, .is_f32 = true}, 67);
  Check(InTf32(TwoSources(224, 64, 30, 32)), 33);
  Check({.channels = 32, .filters = 384, .side = 23, .has_residual = true, .is_f32 = true}, 65);
  Check(InTf32(TwoSources(288, 640, 10, 160)), 63);
}

// Odd sides, so that the last windows touch the border or stop before it.
TEST_F(ConvGemmTest, OtherWindows) {
  Check({.channels = 64, .filters = 64, .side = 37, .kernel = 3, .has_residual = true}, 21);
  Check({.channels = 128, .filters = 64, .side = 19, .kernel = 3, .stride = 2}, 65);
  Check({.channels = 64, .filters = 192, .side = 13, .kernel = 5}, 67);
  Check({.channels = 64, .filters = 128, .side = 15, .kernel = 7, .stride = 2}, 64);
  Check({.channels = 64, .filters = 256, .side = 11, .stride = 3}, 101);
  Check({.channels = 96, .filters = 128, .side = 21, .kernel = 3, .is_f32 = true}, 33);
}

TEST_F(ConvGemmTest, ExactF32IsLeftToOtherKernels) {
  const ConvGemmCase test = {
      .channels = 64, .filters = 64, .side = 8, .has_residual = true, .is_f32 = true};
  Target strict = target();
  strict.numerics.tf32 = false;
  EXPECT_TRUE(OfAllNodes(GraphWithWeights(test.Text(4)), "Conv", strict).empty());
}

}  // namespace
}  // namespace onnx_cudnn
