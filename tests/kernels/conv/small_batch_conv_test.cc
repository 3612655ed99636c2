// What small_batch_conv supports, and its prices.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/kernel.h"
#include "tests/kernels/conv/conv_fixture.h"

namespace onnx_cudnn {
namespace {

TEST_F(ConvKernelsTest, SmallBatchTakesPrologueResidualAndEpilogue) {
  Value& x = Input({1, 64, 14, 14});
  Value& before = Relu(x);
  Value& y = Conv(graph_, before, {.kernel = 3});
  Value& residual = graph_.AddInput("r", y.type());
  Relu(Append(graph_, "Add", {&y, &residual}));
  const Proposed proposed = Around(y);
  EXPECT_TRUE(Has(proposed, "{Conv} last > last"));
  EXPECT_TRUE(Has(proposed, "{Conv Add Relu} last last > last"));
  EXPECT_TRUE(Has(proposed, "{Relu Conv Add Relu} last last > last"));
}

TEST_F(ConvKernelsTest, SmallBatchPadsTheChannelsOfAStemToFour) {
  Value& y = Conv(graph_, Input({1, 3, 32, 32}), {.kernel = 7, .stride = 2});
  EXPECT_TRUE(Has(Around(y), "{Conv} last4 > last"));
}

// Every condition that excludes a single Conv.
TEST_F(ConvKernelsTest, SmallBatchReportsWhyItRefuses) {
  const auto reason = [&](const Dims& dims, const ConvSpec& spec, std::string_view says) {
    graph_ = Graph();
    const Proposed proposed = Around(Conv(graph_, Input(dims), spec));
    EXPECT_TRUE(Says(proposed, says)) << says;
  };
  reason({1, 12, 4, 4}, {}, "small_batch_conv: 12 to 64 channels are no multiples of 8");
  reason({1, 8, 4, 4}, {.filters = 12}, "small_batch_conv: 8 to 12 channels are no multiples of 8");
  reason({1, 8, 4, 4}, {.groups = 2}, "small_batch_conv: it has 2 groups");
  reason({1, 8, 9, 9}, {.kernel = 9}, "small_batch_conv: a window of 9");
  reason({1, 4096, 7, 7}, {.kernel = 7},
         "small_batch_conv: no tile holds its depth in shared memory");
  // Tiles of 16 filters would.
  reason({1, 14'400, 4, 4}, {}, "small_batch_conv: no tile holds its depth in shared memory");
}

// Forms stand before the tiles that are likely to be slow; a plain convolution has tiles alone.
TEST_F(ConvKernelsTest, SmallBatchHasFormsForAResidual) {
  const auto forms = [&](int64_t kernel, bool has_residual) {
    graph_ = Graph();
    Value& y = Conv(graph_, Input({1, 256, 14, 14}), {.filters = 1024, .kernel = kernel});
    std::vector<const Node*> nodes = {y.producer()};
    if (has_residual) {
      nodes.push_back(Append(graph_, "Add", {&y, &graph_.AddInput("r", y.type())}).producer());
    }
    const auto kernel_of_name = std::ranges::find(AllKernels(), "small_batch_conv", &Kernel::name);
    return kernel_of_name->variants(UnitOf(nodes), target_);
  };
  const std::vector<std::string> residual = forms(1, true);
  ASSERT_EQ(residual.size(), 16u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(residual[3 + 2 * i], absl::StrCat(residual[i], " next=late"));
    EXPECT_EQ(residual[4 + 2 * i], absl::StrCat(residual[i], " form=general"));
  }
  for (const std::string& variant : forms(1, false)) {
    EXPECT_FALSE(absl::StrContains(variant, "late") || absl::StrContains(variant, "general"));
  }
  for (const std::string& variant : forms(3, true)) {
    EXPECT_FALSE(absl::StrContains(variant, "late") || absl::StrContains(variant, "general"));
  }
}

// The convolutions of ResNet-50 at batch 9: proposed so that the tuner can time them; cuDNN's are
// predicted to be faster.
TEST_F(ConvKernelsTest, SmallBatchCostsMoreThanCudnnBeyondItsFit) {
  const Engine& cudnn = *std::ranges::find(target_.engines, "cudnn", &Engine::name)[0];
  struct Row {
    int64_t channels, filters, side, kernel;
  };
  for (const Row& row :
       {Row{64, 64, 56, 1}, Row{64, 64, 56, 3}, Row{64, 256, 56, 1}, Row{256, 64, 56, 1},
        Row{128, 128, 28, 3}, Row{512, 128, 28, 1}, Row{256, 256, 14, 3}, Row{256, 1024, 14, 1},
        Row{512, 512, 7, 3}, Row{512, 2048, 7, 1}, Row{2048, 512, 7, 1}}) {
    for (const int64_t images : {9, 16, 64}) {
      graph_ = Graph();
      Value& y = Conv(graph_, Input({images, row.channels, row.side, row.side}),
                      {.filters = row.filters, .kernel = row.kernel});
      Relu(y);
      const auto ours = Of(Around(y), "{Conv Relu} last > last");
      ASSERT_EQ(ours.size(), 1u);
      const auto theirs =
          Of(ProposedBy(cudnn, graph_, *y.producer(), target_), "{Conv Relu} last > last");
      ASSERT_EQ(theirs.size(), 1u);
      const auto variants = engine_->Variants(ours[0], target_);
      ASSERT_TRUE(variants.ok()) << variants.status();
      EXPECT_EQ(variants->back().text, "small_batch_conv");
      const bool is_only = variants->size() == 1;  // else conv_gemm's price stands
      EXPECT_EQ(ours[0].beyond_fit, is_only);
      if (is_only) {
        EXPECT_GT(ours[0].cost.us, theirs[0].cost.us)
            << row.channels << " to " << row.filters << " by " << row.kernel << ", " << images;
      }
    }
  }
}

// The Pad and Conv that the rewrite split-pad makes of a Conv with uneven pads, from batch 9 on:
// the tuner may time them as one unit.
TEST_F(ConvKernelsTest, SmallBatchTakesAPadBeyondItsFit) {
  const auto around = [&](const Dims& dims, const Ints& pads, bool is_read_twice = false) {
    graph_ = Graph();
    Value& padded =
        Append(graph_, "Pad", {&Input(dims), &graph_.AddConstant(HostTensor::Ints(pads))});
    if (is_read_twice) graph_.AddOutput("padded", padded);
    Value& y = Conv(graph_, padded, {.filters = 24, .kernel = 3, .stride = 2});
    Relu(y);
    return Of(Around(y), "{Pad Conv Relu}");
  };
  const Ints uneven = {0, 0, 0, 0, 0, 0, 1, 1};
  const std::vector<Candidate> found = around({9, 24, 28, 28}, uneven);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(Describe(found[0]), "{Pad Conv Relu} last > last");
  EXPECT_TRUE(found[0].beyond_fit);
  EXPECT_FALSE(around({8, 24, 28, 28}, uneven)[0].beyond_fit);
  EXPECT_TRUE(around({9, 3, 28, 28}, uneven).empty());
  EXPECT_TRUE(around({9, 24, 28, 28}, uneven, /*is_read_twice=*/true).empty());
  EXPECT_TRUE(around({9, 24, 28, 28}, {0, 0, 0, 0, 1, 0, 1, 1}).empty());
  EXPECT_TRUE(around({9, 24, 28, 28}, {0, 0, 0, 0, 0, 0, 1, -1}).empty());
}

TEST_F(ConvKernelsTest, SmallBatchRequiresConstantWeights) {
  Value& x = Input({1, 8, 4, 4});
  Value& w = graph_.AddInput("w", Type::Tensor(DType::kF16, {8, 8, 1, 1}));
  EXPECT_TRUE(Says(Around(Append(graph_, "Conv", {&x, &w})),
                   "small_batch_conv: weight or bias is not a constant"));
}

// relu(conv_c(b) + conv_d(x)): the downsample branch extends K of the last convolution.
TEST_F(ConvKernelsTest, SmallBatchConcatenatesTwoSources) {
  Value& x = Input({1, 64, 14, 14});
  Value& b = graph_.AddInput("b", Type::Tensor(DType::kF16, {1, 64, 7, 7}));
  Value& last = Conv(graph_, b, {.filters = 128});
  Value& branch = Conv(graph_, x, {.filters = 128, .stride = 2});
  Relu(Append(graph_, "Add", {&last, &branch}));
  const Proposed at_last = Around(last);
  EXPECT_TRUE(Has(at_last, "{Conv Conv Add Relu} last last > last"));
  EXPECT_TRUE(Has(At(graph_, *branch.producer()), "{Conv Conv Add Relu} last last > last"));
}

TEST_F(ConvKernelsTest, SmallBatchSumsNoTwoConvsWithOtherReaders) {
  Value& x = Input({1, 64, 7, 7});
  Value& b = graph_.AddInput("b", x.type());
  Value& last = Conv(graph_, b, {});
  Value& branch = Conv(graph_, x, {});
  graph_.AddOutput("seen", branch);
  Append(graph_, "Add", {&last, &branch});
  EXPECT_TRUE(Of(Around(last), "{Conv Conv Add}").empty());
}

TEST_F(ConvKernelsTest, SmallBatchSumsNoTwoLargeWindows) {
  Value& x = Input({1, 64, 7, 7});
  Value& b = graph_.AddInput("b", x.type());
  Value& last = Conv(graph_, b, {.kernel = 3});
  Append(graph_, "Add", {&last, &Conv(graph_, x, {.kernel = 3})});
  for (const Candidate& candidate : Of(Around(last), "{Conv Conv Add}")) {
    const auto variants = engine_->Variants(candidate, target_);
    ASSERT_TRUE(variants.ok());
    for (const Variant& variant : *variants) EXPECT_NE(variant.text, "small_batch_conv");
  }
}

TEST_F(ConvKernelsTest, SmallBatchMergesSiblings) {
  Value& x = Input({1, 64, 14, 14});
  Value& first = Conv(graph_, x, {.filters = 64});
  Value& second = Conv(graph_, x, {.filters = 96});
  graph_.AddOutput("z", Relu(first));
  Relu(second);
  const Proposed proposed = Around(first);
  EXPECT_TRUE(Has(proposed, "{Conv Conv} last > last last"));
  EXPECT_TRUE(Has(proposed, "{Conv Conv Relu Relu} last > last last"));
}

TEST_F(ConvKernelsTest, SmallBatchMergesNoSiblingsOfOtherWindows) {
  Value& x = Input({1, 64, 14, 14});
  Value& first = Conv(graph_, x, {});
  Conv(graph_, x, {.kernel = 3});
  EXPECT_TRUE(Of(Around(first), "{Conv Conv}").empty());
}

TEST_F(ConvKernelsTest, SmallBatchJoinsNoResultsOfTwoSiblings) {
  Value& x = Input({1, 64, 14, 14});
  Value& first = Conv(graph_, x, {});
  Value& second = Conv(graph_, x, {});
  Append(graph_, "Mul", {&first, &second});
  const Proposed proposed = Around(first);
  EXPECT_EQ(Of(proposed, "{Conv Conv}").size(), 1u);
  EXPECT_TRUE(Of(proposed, "{Conv Conv Mul}").empty());
}

// ResNet-50's 53 convolutions take 201 µs in sequence at batch 1, 4 on average; no price is below
// the cost of a launch boundary.
TEST_F(ConvKernelsTest, SmallBatchIsPricedAsMeasured) {
  const auto us = [&](const Dims& dims, const ConvSpec& spec) {
    graph_ = Graph();
    return Of(Around(Conv(graph_, Input(dims), spec)), "{Conv} last")[0].cost.us;
  };
  EXPECT_NEAR(us({1, 64, 56, 56}, {.filters = 64}), 2.5, 0.7);
  EXPECT_NEAR(us({1, 64, 56, 56}, {.filters = 64, .kernel = 3}), 4, 2);
  EXPECT_NEAR(us({1, 512, 7, 7}, {.filters = 512, .kernel = 3}), 5, 2);
  EXPECT_GT(us({8, 128, 28, 28}, {.filters = 128, .kernel = 3}), 8);  // then libraries are faster
}

}  // namespace
}  // namespace onnx_cudnn
