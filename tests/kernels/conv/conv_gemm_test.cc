// What conv_gemm supports, and its prices.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kernels/conv/conv_fixture.h"

namespace onnx_cudnn {
namespace {

// Prices at batch 256: the bytes that must be read and written, or the products; pixels that a
// stride skips cost nothing.
TEST_F(ConvKernelsTest, GemmTakesLargeBatchesWithAResidual) {
  Value& y = Conv(graph_, Input({256, 64, 56, 56}), {.filters = 256});
  Relu(Append(graph_, "Add", {&graph_.AddInput("r", y.type()), &y}));
  const auto found = Of(Around(y), "{Conv Add Relu}");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(Describe(found[0]), "{Conv Add Relu} last last > last");
  EXPECT_NEAR(found[0].cost.us, 234, 1);
}

TEST_F(ConvKernelsTest, GemmConcatenatesTwoSources) {
  const auto us = [&](const Dims& near, const Dims& far, const ConvSpec& spec) {
    graph_ = Graph();
    Value& last = Conv(graph_, Input(near), {.filters = spec.filters});
    Value& z = graph_.AddInput("z", Type::Tensor(DType::kF16, far));
    Relu(Append(graph_, "Add", {&last, &Conv(graph_, z, spec)}));
    const auto found = Of(Around(last), "{Conv Conv Add Relu} last last > last");
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? 0 : found[0].cost.us;
  };
  EXPECT_NEAR(us({256, 64, 56, 56}, {256, 64, 56, 56}, {.filters = 256}), 157, 1);
  EXPECT_NEAR(us({256, 128, 28, 28}, {256, 256, 56, 56}, {.filters = 512, .stride = 2}), 134.5, 1);
}

TEST_F(ConvKernelsTest, GemmAddsNoResidualToTwoSources) {
  Value& x = Input({16, 64, 8, 8});
  Value& last = Conv(graph_, x, {});
  Value& sum = Append(graph_, "Add", {&last, &Conv(graph_, x, {})});
  Append(graph_, "Add", {&sum, &x});
  const Proposed proposed = Around(last);
  EXPECT_FALSE(Of(proposed, "{Conv Conv Add}").empty());
  for (const Candidate& c : Of(proposed, "{Conv Conv Add Add}")) {
    EXPECT_TRUE(c.beyond_fit);  // small_batch_conv's
  }
}

TEST_F(ConvKernelsTest, GemmReportsWhyItRefuses) {
  const auto reason = [&](const Dims& dims, const ConvSpec& spec, std::string_view says) {
    graph_ = Graph();
    EXPECT_TRUE(Says(Around(Conv(graph_, Input(dims), spec)), says)) << says;
  };
  reason({16, 64, 20, 20}, {.kernel = 17}, "conv_gemm: a window of 17");
  reason({16, 64, 9, 9}, {.stride = 9}, "conv_gemm: a stride of 9");
  reason({16, 96, 8, 8}, {}, "conv_gemm: 96 channels are no multiple of 64");
  reason({16, 64, 8, 8}, {.filters = 32}, "conv_gemm: 32 filters are no multiple of 64");
  reason({16, 128, 8, 8}, {.kernel = 3, .groups = 2}, "conv_gemm: it has 2 groups");
}

TEST_F(ConvKernelsTest, GemmLeavesDilationAndLargePads) {
  const auto reason = [&](const Attrs& attrs, std::string_view says) {
    graph_ = Graph();
    Value& x = Input({16, 64, 8, 8});
    Value& y = Append(graph_, "Conv", {&x, &Weights(graph_, DType::kF16, {64, 64, 3, 3})}, attrs);
    EXPECT_TRUE(Says(Around(y), says)) << says;
  };
  reason({{"dilations", Ints{2, 2}}}, "conv_gemm: it is dilated");
  reason({{"pads", Ints{1, 1, 1, 17}}}, "conv_gemm: pads of 17");
}

// 59 GFLOP at 600 TFLOP/s; the bytes, if a stride over the image leaves fewer products.
TEST_F(ConvKernelsTest, GemmTakesLargeWindows) {
  const auto us = [&](int64_t channels, int64_t filters, int64_t side, int64_t stride) {
    graph_ = Graph();
    Value& y = Conv(graph_, Input({256, channels, side, side}),
                    {.filters = filters, .kernel = 3, .stride = stride});
    Relu(Append(graph_, "Add", {&y, &graph_.AddInput("r", y.type())}));
    const auto found = Of(Around(y), "{Conv Add Relu} last last > last");
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? 0 : found[0].cost.us;
  };
  EXPECT_NEAR(us(128, 128, 28, 1), 101.6, 0.1);
  EXPECT_NEAR(us(256, 256, 14, 1), 101.6, 0.1);
  EXPECT_NEAR(us(64, 128, 56, 2), 54.5, 0.1);
}

// ResNet-18's downsample branch, folded into the last convolution of its block.
TEST_F(ConvKernelsTest, GemmConcatenatesAWindowAndABranch) {
  Value& last = Conv(graph_, Input({256, 128, 28, 28}), {.filters = 128, .kernel = 3});
  Value& z = graph_.AddInput("z", Type::Tensor(DType::kF16, {256, 64, 56, 56}));
  Relu(Append(graph_, "Add", {&last, &Conv(graph_, z, {.filters = 128, .stride = 2})}));
  const auto found = Of(Around(last), "{Conv Conv Add Relu} last last > last");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].cost.us, 107.1, 0.1);
}

// With products in TF32, at half the rate of f16: never if results must be exact.
TEST_F(ConvKernelsTest, GemmTakesF32WhereTf32IsAllowed) {
  Value& y = Conv(graph_, Input({256, 96, 56, 56}, DType::kF32), {.filters = 256});
  Relu(Append(graph_, "Add", {&y, &graph_.AddInput("r", y.type())}));
  const Proposed strict = Around(y);
  EXPECT_TRUE(Of(strict, "{Conv Add Relu}").empty());
  EXPECT_TRUE(Says(strict, absl::StrCat("conv_gemm: ", kNoTf32)));
  Target target = target_;
  target.numerics.tf32 = true;
  const Proposed allowed = In(target, *y.producer());
  EXPECT_FALSE(Says(allowed, absl::StrCat("conv_gemm: ", kNoTf32)));
  const auto found = Of(allowed, "{Conv Add Relu}");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(Describe(found[0]), "{Conv Add Relu} last last > last");
  EXPECT_NEAR(found[0].cost.us, 491, 1);
  EXPECT_TRUE(engine_->Check(graph_, found[0], target));
  const Support no = engine_->Check(graph_, found[0], target_);
  EXPECT_FALSE(no);
  EXPECT_TRUE(absl::StrContains(no.reason(), absl::StrCat("conv_gemm: ", kNoTf32))) << no.reason();
}

TEST_F(ConvKernelsTest, GemmReportsWhyItRefusesF32) {
  EXPECT_TRUE(Says(Around(Conv(graph_, Input({16, 48, 8, 8}, DType::kF32), {})),
                   "conv_gemm: 48 channels are no multiple of 32"));
}

// ResNet-18 at batch 1 was slower with this kernel than with two cuDNN convolutions.
TEST_F(ConvKernelsTest, GemmOfTwoF32SourcesOfFewResultsIsBeyondItsFit) {
  Target target = target_;
  target.numerics.tf32 = true;
  for (const int64_t images : {8, 16}) {
    graph_ = Graph();
    Value& x = Input({images, 256, 14, 14}, DType::kF32);
    Value& last = Conv(graph_, x, {.filters = 256, .kernel = 3});
    Value& z = graph_.AddInput("z", Type::Tensor(DType::kF32, {images, 128, 14, 14}));
    graph_.AddOutput("y", Append(graph_, "Add", {&last, &Conv(graph_, z, {.filters = 256})}));
    const auto found = Of(In(target, *last.producer()), "{Conv Conv Add}");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].beyond_fit, images == 8);
  }
}

TEST_F(ConvKernelsTest, GemmIsLeftToChainsAtBatchOne) {
  const auto first = [&](int64_t near, int64_t far, int64_t filters, int64_t side, int64_t stride) {
    graph_ = Graph();
    Value& last = Conv(graph_, Input({1, near, side, side}), {.filters = filters});
    Value& z =
        graph_.AddInput("z", Type::Tensor(DType::kF16, {1, far, side * stride, side * stride}));
    Value& branch = Conv(graph_, z, {.filters = filters, .stride = stride});
    Relu(Append(graph_, "Add", {&last, &branch}));
    const auto found = Of(Around(last), "{Conv Conv Add Relu} last last > last");
    EXPECT_EQ(found.size(), 1u);
    const auto variants = engine_->Variants(found.at(0), target_);
    return variants.ok() ? variants->at(0).text : std::string();
  };
  EXPECT_EQ(first(64, 64, 256, 56, 1), "small_batch_conv");
  EXPECT_EQ(first(128, 256, 512, 28, 2), "small_batch_conv");
  EXPECT_EQ(first(256, 512, 1024, 14, 2), "small_batch_conv");
  EXPECT_EQ(first(512, 1024, 2048, 7, 2), "small_batch_conv");
}

}  // namespace
}  // namespace onnx_cudnn
