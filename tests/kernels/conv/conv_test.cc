// What the convolution kernels take, with their prices.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

using Lines = std::vector<std::string>;
using Ints = std::vector<int64_t>;

struct ConvSpec {
  int64_t filters = 64;
  int64_t kernel = 1, stride = 1;
  int64_t groups = 1;
};

Value& Conv(Graph& graph, Value& x, const ConvSpec& spec) {
  const DType dtype = x.dtype();
  Value& w =
      Weights(graph, dtype, {spec.filters, x.dim(1) / spec.groups, spec.kernel, spec.kernel});
  Value& b = Weights(graph, dtype, {spec.filters});
  const int64_t pad = spec.kernel / 2;
  return Append(graph, "Conv", {&x, &w, &b},
                {{"group", spec.groups},
                 {"pads", Ints{pad, pad, pad, pad}},
                 {"strides", Ints{spec.stride, spec.stride}}});
}

class ConvKernelsTest : public KernelsTest {
 protected:
  Value& Input(const Dims& dims, DType dtype = DType::kF16) {
    return graph_.AddInput("x", Type::Tensor(dtype, dims));
  }
  Value& Relu(Value& v) { return Append(graph_, "Relu", {&v}); }
  Proposed Around(const Value& v) {
    graph_.AddOutput("y", *graph_.TopologicalOrder().back()->outputs()[0]);
    return At(graph_, *v.producer());
  }
  // What is proposed for another Target than that of At.
  Proposed In(const Target& target, const Node& node) const {
    return ProposedBy(*engine_, graph_, node, target);
  }
  // The Candidates with these ops.
  static std::vector<Candidate> Of(const Proposed& proposed, std::string_view ops) {
    std::vector<Candidate> found;
    for (const Candidate& c : proposed.candidates) {
      if (Describe(c).starts_with(ops)) found.push_back(c);
    }
    return found;
  }
  static bool Says(const Proposed& proposed, std::string_view reason) {
    return std::find(proposed.reasons.begin(), proposed.reasons.end(), reason) !=
           proposed.reasons.end();
  }
  static bool Has(const Proposed& proposed, std::string_view line) {
    const Lines lines = Describe(proposed.candidates);
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }

  Graph graph_;
};

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

// A square is dearer than its multiply-adds at the peak and far cheaper than in cuDNN, which takes
// 4,108 µs; other windows cost what one H200 took for 1.7 million multiply-adds a µs.
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

// Every "must not" of a single Conv.
TEST_F(ConvKernelsTest, SmallBatchSaysWhatItLeaves) {
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
}

// The convolutions of ResNet-50 at batch 9: they exist, for the tuner to time, and cuDNN's are
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

TEST_F(ConvKernelsTest, ALesserGpuSaysWhatIsMissing) {
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

// Blackwell has clusters and no wgmma.
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

TEST_F(ConvKernelsTest, SmallBatchWantsConstantWeights) {
  Value& x = Input({1, 8, 4, 4});
  Value& w = graph_.AddInput("w", Type::Tensor(DType::kF16, {8, 8, 1, 1}));
  EXPECT_TRUE(Says(Around(Append(graph_, "Conv", {&x, &w})),
                   "small_batch_conv: weight or bias is not a constant"));
}

// relu(conv_c(b) + conv_d(x)): the downsample branch as more K of the last convolution.
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

TEST_F(ConvKernelsTest, SmallBatchSumsNoTwoConvsWhoseResultOthersRead) {
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

// ResNet-50's 53 convolutions take 201 µs at batch 1 in a chain, 4 on average; no link is below a
// boundary.
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

// The prices at batch 256: what must be read and written, or the products; pixels that a stride
// skips cost nothing.
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

TEST_F(ConvKernelsTest, GemmSaysWhatItLeaves) {
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

// 59 GFLOP at 600 TFLOP/s; the bytes where a stride over the image leaves fewer.
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

// ResNet-18's downsample branch in its block's last convolution.
TEST_F(ConvKernelsTest, GemmConcatenatesAWindowAndABranch) {
  Value& last = Conv(graph_, Input({256, 128, 28, 28}), {.filters = 128, .kernel = 3});
  Value& z = graph_.AddInput("z", Type::Tensor(DType::kF16, {256, 64, 56, 56}));
  Relu(Append(graph_, "Add", {&last, &Conv(graph_, z, {.filters = 128, .stride = 2})}));
  const auto found = Of(Around(last), "{Conv Conv Add Relu} last last > last");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].cost.us, 107.1, 0.1);
}

constexpr std::string_view kNoTf32 =
    "its products of f32 are tf32, which --precision strict leaves out";

// By products of tf32, at half the rate of f16's: never where results are to be exact.
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

TEST_F(ConvKernelsTest, GemmSaysWhatItLeavesOfF32) {
  EXPECT_TRUE(Says(Around(Conv(graph_, Input({16, 48, 8, 8}, DType::kF32), {})),
                   "conv_gemm: 48 channels are no multiple of 32"));
}

// ResNet-18 at batch 1 was slower so than with cuDNN's two convolutions.
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

TEST_F(ConvKernelsTest, StemAndPoolAreOneFromTheCallersImage) {
  Value& y = Conv(graph_, Input({256, 3, 224, 224}), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(y));
  const auto stem = Of(Around(y), "{Conv Relu MaxPool}");
  ASSERT_EQ(stem.size(), 1u);
  EXPECT_EQ(Describe(stem[0]), "{Conv Relu MaxPool} rows > last");
  EXPECT_NEAR(stem[0].cost.us, 98, 2);
}

TEST_F(ConvKernelsTest, StemTakesF32WhereTf32IsAllowed) {
  Value& y = Conv(graph_, Input({256, 3, 224, 224}, DType::kF32), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(y));
  const Proposed strict = Around(y);
  EXPECT_TRUE(Of(strict, "{Conv Relu MaxPool}").empty());
  EXPECT_TRUE(Says(strict, absl::StrCat("stem_pool: ", kNoTf32)));
  EXPECT_TRUE(std::any_of(strict.not_fused.begin(), strict.not_fused.end(), [](const auto& line) {
    return absl::EndsWith(line, absl::StrCat(" to MaxPool: ", kNoTf32));
  }));
  Target target = target_;
  target.numerics.tf32 = true;
  const auto stem = Of(In(target, *y.producer()), "{Conv Relu MaxPool}");
  ASSERT_EQ(stem.size(), 1u);
  EXPECT_EQ(Describe(stem[0]), "{Conv Relu MaxPool} rows > last");
  EXPECT_NEAR(stem[0].cost.us, 161, 5);
  EXPECT_TRUE(engine_->Check(graph_, stem[0], target));
  EXPECT_FALSE(engine_->Check(graph_, stem[0], target_));
}

TEST_F(ConvKernelsTest, StemReadsTheImageAsTheCallerHasIt) {
  Value& x = Input({1, 3, 64, 224}, DType::kF32);
  Value& half = Append(graph_, "Cast", {&x}, {{"to", int64_t{10}}});
  Value& y = Conv(graph_, half, {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(y));
  EXPECT_TRUE(Has(Around(y), "{Cast Conv Relu MaxPool} rows > last"));
}

TEST_F(ConvKernelsTest, StemStaysAloneWhereOthersReadIt) {
  Value& y = Conv(graph_, Input({1, 3, 64, 224}), {.kernel = 7, .stride = 2});
  Value& relu = Relu(y);
  graph_.AddOutput("seen", relu);
  MaxPool(graph_, relu);
  EXPECT_TRUE(Of(Around(y), "{Conv Relu MaxPool}").empty());
}

TEST_F(ConvKernelsTest, StemWantsItsWindow) {
  Value& y = Conv(graph_, Input({1, 3, 32, 32}), {.kernel = 5, .stride = 2});
  MaxPool(graph_, Relu(y));
  const Proposed proposed = Around(y);
  EXPECT_TRUE(Of(proposed, "{Conv Relu MaxPool}").empty());
  EXPECT_TRUE(Says(proposed, "stem_pool: the convolution is not 7 x 7 with stride 2 and pads 3"));
}

TEST_F(ConvKernelsTest, StemWantsItsImage) {
  Value& narrow = Conv(graph_, Input({1, 3, 64, 64}), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(narrow));
  EXPECT_TRUE(Says(Around(narrow),
                   "stem_pool: the image is 64 x 64, not 224 wide and a multiple of 4 high"));
  Value& thick = Conv(graph_, Input({1, 4, 64, 224}), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(thick));
  EXPECT_TRUE(Says(Around(thick), "stem_pool: 4 to 64 channels are not 3 to 64"));
}

TEST_F(ConvKernelsTest, StemTakesNothingButACastBeforeIt) {
  Value& x = Input({1, 3, 64, 224});
  Value& y = Conv(graph_, Append(graph_, "Neg", {&x}), {.kernel = 7, .stride = 2});
  MaxPool(graph_, Relu(y));
  const Proposed proposed = Around(y);
  EXPECT_TRUE(Of(proposed, "{Neg Conv Relu MaxPool}").empty());
  EXPECT_FALSE(Of(proposed, "{Conv Relu MaxPool}").empty());
}

TEST_F(ConvKernelsTest, NameTheKernelsThatTakeACandidate) {
  const Proposed proposed = Around(Conv(graph_, Input({1, 64, 56, 56}), {.kernel = 3}));
  const auto variants = engine_->Variants(Of(proposed, "{Conv} last")[0], target_);
  ASSERT_TRUE(variants.ok());
  Lines names;
  for (const Variant& v : *variants) names.push_back(v.text);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (Lines{"conv_3x3", "conv_gemm", "direct_conv", "small_batch_conv"}));
}

}  // namespace
}  // namespace onnx_cudnn
