// What direct_conv, depthwise_conv and conv_3x3 support, their prices, and their GPUs.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kernels/conv/conv_fixture.h"

namespace onnx_cudnn {
namespace {

TEST_F(ConvKernelsTest, DirectTakesEveryConvAtAPoorPrice) {
  const Proposed proposed =
      Around(Conv(graph_, Input({1, 8, 6, 6}, DType::kF32), {.filters = 8, .kernel = 3}));
  EXPECT_EQ(Describe(proposed.candidates), (Lines{"{Conv} rows > rows", "{Conv} last > last"}));
  EXPECT_TRUE(Says(proposed, "small_batch_conv: it does not take f32"));
  const Cost& cost = proposed.candidates[0].cost;
  EXPECT_NEAR(cost.us, static_cast<double>(cost.flops) / (0.05 * 51e6) + 1.82, 1e-9);
}

TEST_F(ConvKernelsTest, DirectTakesTransposedConvs) {
  Value& x = Input({1, 4, 3, 3}, DType::kF64);
  Value& y = Append(graph_, "ConvTranspose", {&x, &Weights(graph_, DType::kF64, {4, 2, 2, 2})});
  EXPECT_TRUE(Has(Around(y), "{ConvTranspose} rows > rows"));
}

TEST_F(ConvKernelsTest, DepthwiseTakesAnEpilogue) {
  Value& y =
      Conv(graph_, Input({16, 12, 6, 6}, DType::kF32), {.filters = 24, .kernel = 3, .groups = 12});
  Relu(y);
  const Proposed proposed = Around(y);
  EXPECT_EQ(Of(proposed, "{Conv Relu}").size(), 2u);
  EXPECT_TRUE(Has(proposed, "{Conv Relu} last > last"));
}

TEST_F(ConvKernelsTest, DepthwiseIsPricedBetweenItsBytesAndCudnn) {
  Value& y = Conv(graph_, Input({256, 96, 56, 56}), {.filters = 96, .kernel = 3, .groups = 96});
  const Proposed proposed = Around(y);
  EXPECT_LT(proposed.candidates[0].cost.us, 220);  // cuDNN
  EXPECT_GT(proposed.candidates[0].cost.us, 72);   // the bytes
}

// A square window costs more than its multiply-adds at peak rate and far less than in cuDNN, which
// takes 4,108 µs; other windows cost what an H200 took: 1.7 million multiply-adds per µs.
TEST_F(ConvKernelsTest, DepthwiseIsPricedByItsMultiplyAdds) {
  const auto us = [&](int64_t kernel) {
    graph_ = Graph();
    Value& y =
        Conv(graph_, Input({16, 96, 160, 160}), {.filters = 96, .kernel = kernel, .groups = 96});
    return Of(Around(y), "{Conv} last > last")[0].cost.us;
  };
  EXPECT_NEAR(us(7), 16 * 24.3, 40);  // an image took 24.3
  EXPECT_NEAR(us(4), 16 * 96 * 161 * 161 * 16 / 1.7e6, 20);
}

TEST_F(ConvKernelsTest, DepthwiseLeavesGroupsOfSeveralChannels) {
  Value& y =
      Conv(graph_, Input({16, 12, 6, 6}, DType::kF32), {.filters = 12, .kernel = 3, .groups = 6});
  EXPECT_TRUE(Says(Around(y), "depthwise_conv: it has 2 channels a group, not 1"));
}

TEST_F(ConvKernelsTest, DepthwiseLeavesLargeWindows) {
  Value& y =
      Conv(graph_, Input({1, 8, 16, 16}, DType::kF32), {.filters = 8, .kernel = 9, .groups = 8});
  EXPECT_TRUE(Says(Around(y), "depthwise_conv: its window has 81 taps, more than 49"));
}

TEST_F(ConvKernelsTest, AnOlderGpuReportsWhatIsMissing) {
  Value& y = Conv(graph_, Input({1, 64, 56, 56}), {.kernel = 3});
  const Proposed whole = Around(y);
  EXPECT_TRUE(Has(whole, "{Conv} last > last"));
  OwnedTarget lesser = *MakeTarget("h200");
  ASSERT_TRUE(SetCapability(lesser, 80).ok());
  const Proposed proposed = In(lesser.target, *y.producer());
  EXPECT_TRUE(Says(proposed,
                   "small_batch_conv: it needs compute capability 9.0 or later (clusters), h200 as "
                   "8.0 has 8.0"));
  EXPECT_TRUE(Says(proposed,
                   "conv_3x3: it needs compute capability 9.0a (wgmma and the copy engine), h200 "
                   "as 8.0 has 8.0"));
  for (const Candidate& c : proposed.candidates) {
    const auto variants = engine_->Variants(c, lesser.target);
    ASSERT_TRUE(variants.ok());
    ASSERT_EQ(variants->size(), 1u);
    EXPECT_EQ(variants->at(0).text, "direct_conv");
  }
  const Support no = engine_->Check(graph_, Of(whole, "{Conv} last > last")[0], lesser.target);
  EXPECT_TRUE(no);  // direct_conv takes it too
}

// Blackwell has clusters but no wgmma.
TEST_F(ConvKernelsTest, Sm90aCodeIsForItsArchitectureAlone) {
  Value& y = Conv(graph_, Input({1, 64, 56, 56}), {.kernel = 3});
  graph_.AddOutput("y", y);
  const OwnedTarget b200 = *MakeTarget("b200");
  const Proposed proposed = In(b200.target, *y.producer());
  EXPECT_TRUE(Says(proposed,
                   "conv_3x3: it needs compute capability 9.0a (wgmma and the copy engine), b200 "
                   "has 10.0"));
  const auto variants = engine_->Variants(Of(proposed, "{Conv} last > last")[0], b200.target);
  ASSERT_TRUE(variants.ok());
  EXPECT_EQ(variants->at(0).text, "small_batch_conv");
}

TEST_F(ConvKernelsTest, SixtyFourChannelsByThreeAreTakenAtAnyBatch) {
  Value& x = Input({256, 64, 56, 56});
  Value& y = Conv(graph_, x, {.kernel = 3});
  Relu(Append(graph_, "Add", {&y, &graph_.AddInput("r", y.type())}));
  const Proposed proposed = Around(y);
  const auto residual = Of(proposed, "{Conv Add Relu}");
  ASSERT_EQ(residual.size(), 1u);
  EXPECT_NEAR(residual[0].cost.us, 89, 2);
  EXPECT_NEAR(Of(proposed, "{Conv} last")[0].cost.us, 80, 1);
}

TEST_F(ConvKernelsTest, SixtyFourChannelsByThreeLeavesTheRest) {
  const auto reason = [&](const Dims& dims, const ConvSpec& spec, std::string_view says) {
    graph_ = Graph();
    EXPECT_TRUE(Says(Around(Conv(graph_, Input(dims), spec)), says)) << says;
  };
  reason({16, 64, 8, 8}, {.kernel = 3, .stride = 2},
         "conv_3x3: it is not 3 x 3 with stride 1 and pads 1");
  reason({16, 32, 8, 8}, {.kernel = 3}, "conv_3x3: 32 to 64 channels are not 64 to 64");
}

TEST_F(ConvKernelsTest, NameTheKernelsThatTakeACandidate) {
  const Proposed proposed = Around(Conv(graph_, Input({1, 64, 56, 56}), {.kernel = 3}));
  EXPECT_EQ(KernelsOf(Of(proposed, "{Conv} last")[0]),
            (Lines{"conv_3x3", "conv_gemm", "direct_conv", "small_batch_conv"}));
}

TEST_F(ConvKernelsTest, ConvGemmAndConv3x3LeaveAConstantAddend) {
  Value& y = Conv(graph_, Input({1, 64, 56, 56}), {.kernel = 3});
  Append(graph_, "Add", {&y, &Weights(graph_, DType::kF16, {1, 64, 56, 56})});
  EXPECT_EQ(KernelsOf(Of(Around(y), "{Conv Add} last")[0]), (Lines{"small_batch_conv"}));
}

}  // namespace
}  // namespace onnx_cudnn
