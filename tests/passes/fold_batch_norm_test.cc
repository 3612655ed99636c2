#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "passes/pass_manager.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/float16.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kPattern = R"(
      g (float[1,1,4,4] x) => (float[1,1,4,4] y)
        <float[1,1,1,1] w = {3}, float[1] gamma = {4}, float[1] beta = {1}, float[1] mean = {5}, float[1] var = {4}>
      { t = Conv(x, w)
        y = BatchNormalization(t, gamma, beta, mean, var) })";

// The pattern with some of its text replaced becomes a Conv.
using Replaced = std::vector<std::pair<std::string_view, std::string_view>>;
void ExpectFolds(const Replaced& replaced, std::string_view conv) {
  ExpectRewrite(FoldBatchNorm(), absl::StrReplaceAll(kPattern, replaced),
                absl::StrCat("g (f32[1,1,4,4] x) => (f32[1,1,4,4] y = t) { t = ", conv, " }"));
}

void ExpectStays(const Replaced& replaced, std::string_view reason) {
  ExpectNoRewrite(FoldBatchNorm(), absl::StrReplaceAll(kPattern, replaced), reason);
}

constexpr std::pair<std::string_view, std::string_view> kNoEpsilon = {
    "Normalization(", "Normalization<epsilon = 0.0>("};

TEST(FoldBatchNormTest, FoldsScaleAndShiftIntoConv) {  // s = 4 / sqrt(4) = 2
  ExpectFolds({kNoEpsilon}, "Conv(x, {6}, {-9})");
}

TEST(FoldBatchNormTest, AddsEpsilonToTheVariance) {  // s = 4 / sqrt(1 + 3) = 2
  ExpectFolds({{"var = {4}", "var = {1}"}, {"Normalization(", "Normalization<epsilon = 3.0>("}},
              "Conv(x, {6}, {-9})");
}

TEST(FoldBatchNormTest, TakesTheDefaultEpsilon) {  // s = 1 / sqrt(9e-5 + 1e-5)
  ExpectFolds({{"w = {3}", "w = {1}"},
               {"gamma = {4}", "gamma = {1}"},
               {"beta = {1}", "beta = {0}"},
               {"mean = {5}", "mean = {0}"},
               {"var = {4}", "var = {0.00009}"}},
              "Conv(x, {100}, {0})");
}

TEST(FoldBatchNormTest, FoldsIntoABias) {  // b' = (7 - 5) * 2 + 1
  ExpectFolds({kNoEpsilon, {"w = {3}, ", "w = {3}, float[1] b = {7}, "}, {"(x, w)", "(x, w, b)"}},
              "Conv(x, {6}, {5})");
}

TEST(FoldBatchNormTest, ScalesEachOutputChannelOfAGroupedConv) {
  ExpectRewrite(
      FoldBatchNorm(), R"(
      g (float[1,2,4] x) => (float[1,2,4] y)
        <float[2,1,1] w = {3, 5}, float[2] gamma = {1, 2}, float[2] beta = {0, 1}, float[2] mean = {0, 1}, float[2] var = {1, 1}>
      { t = Conv<group = 2>(x, w)
        y = BatchNormalization<epsilon = 0.0>(t, gamma, beta, mean, var) })",
      "g (f32[1,2,4] x) => (f32[1,2,4] y = t) { t = Conv<group = 2>(x, {3, 10}, {0, -1}) }");
}

TEST(FoldBatchNormTest, FoldsThreeSpatialDims) {
  ExpectRewrite(FoldBatchNorm(), R"(
      g (float[1,1,2,2,2] x) => (float[1,1,2,2,2] y)
        <float[1,1,1,1,1] w = {3}, float[1] gamma = {2}, float[1] beta = {0}, float[1] mean = {0}, float[1] var = {1}>
      { t = Conv(x, w)
        y = BatchNormalization<epsilon = 0.0>(t, gamma, beta, mean, var) })",
                "g (f32[1,1,2,2,2] x) => (f32[1,1,2,2,2] y = t) { t = Conv(x, {6}, {0}) }");
}

// A product of two channels, then s = {1, 2} and a shift of {0, -1}.
void ExpectFoldsTwo(std::string_view border, std::string_view constants, std::string_view product,
                    std::string_view after) {
  ExpectRewrite(FoldBatchNorm(),
                absl::StrCat("g ", border, " <", constants, ", float[2] gamma = {1, 2}, ",
                             "float[2] beta = {0, 1}, float[2] mean = {0, 1}, ",
                             "float[2] var = {1, 1}> { t = ", product,
                             " y = BatchNormalization<epsilon = 0.0>(t, gamma, beta, mean, var) }"),
                after);
}

TEST(FoldBatchNormTest, FoldsIntoTheColumnsOfConvTranspose) {
  ExpectFoldsTwo("(float[1,1,4] x) => (float[1,2,4] y)", "float[1,2,1] w = {3, 5}",
                 "ConvTranspose(x, w)",
                 "g (f32[1,1,4] x) => (f32[1,2,4] y = t) "
                 "{ t = ConvTranspose(x, {3, 10}, {0, -1}) }");
}

TEST(FoldBatchNormTest, FoldsIntoGemm) {
  ExpectFoldsTwo("(float[3,1] x) => (float[3,2] y)", "float[1,2] w = {3, 5}, float[2] b = {1, 2}",
                 "Gemm(x, w, b)",
                 "g (f32[3,1] x) => (f32[3,2] y = t) { t = Gemm(x, {3, 10}, {1, 3}) }");
}

TEST(FoldBatchNormTest, MakesMatMulAGemm) {
  ExpectFoldsTwo("(float[3,1] x) => (float[3,2] y)", "float[1,2] w = {3, 5}", "MatMul(x, w)",
                 "g (f32[3,1] x) => (f32[3,2] y = t_2) { t_2 = Gemm(x, {3, 10}, {0, -1}) }");
}

TEST(FoldBatchNormTest, LeavesAMatMulOfHigherRank) {
  ExpectNoRewrite(FoldBatchNorm(), R"(
      g (float[4,2,1] x) => (float[4,2,2] y)
        <float[1,2] w = {3, 5}, float[2] gamma = {1, 2}, float[2] beta = {0, 1}, float[2] mean = {0, 1}, float[2] var = {1, 1}>
      { t = MatMul(x, w)
        y = BatchNormalization(t, gamma, beta, mean, var) })",
                  "the product's channels lie along another axis");
}

TEST(FoldBatchNormTest, LeavesAScaledBiasOfGemm) {
  ExpectNoRewrite(FoldBatchNorm(), R"(
      g (float[3,1] x) => (float[3,1] y)
        <float[1,1] w = {3}, float[1] b = {1}, float[1] gamma = {1}, float[1] beta = {0}, float[1] mean = {0}, float[1] var = {1}>
      { t = Gemm<beta = 2.0>(x, w, b)
        y = BatchNormalization(t, gamma, beta, mean, var) })",
                  "the bias is not a constant of one per channel");
}

TEST(FoldBatchNormTest, LeavesAConvWithOtherUsers) {
  ExpectStays({{" y)", " y, float[1,1,4,4] t)"}}, "the product has other users");
}

TEST(FoldBatchNormTest, LeavesWeightsThatAreInputs) {
  ExpectStays({{" x)", " x, float[1,1,1,1] w)"}, {"float[1,1,1,1] w = {3}, ", ""}},
              "the weight is not a constant");
}

TEST(FoldBatchNormTest, LeavesStatisticsThatAreInputs) {
  ExpectStays({{" x)", " x, float[1] mean)"}, {"float[1] mean = {5}, ", ""}},
              "statistics are not constants");
}

TEST(FoldBatchNormTest, LeavesTrainingMode) {
  ExpectStays({{"y = BatchNormalization", "y, m, v = BatchNormalization<training_mode = 1>"}},
              "it is in training mode");
}

TEST(FoldBatchNormTest, LeavesANormalizationAfterAnotherOp) {
  ExpectStays({{"Conv(x, w)", "Relu(x)"}}, "input 0 is not a Conv");
}

TEST(FoldBatchNormTest, LeavesAZeroVarianceWithoutEpsilon) {
  ExpectStays({kNoEpsilon, {"var = {4}", "var = {0}"}},
              "a folded weight is not finite in its type");
}

HostTensor Halves(Dims dims, std::vector<float> values) {
  std::vector<Float16> halves;
  for (const float v : values) halves.push_back(ToFloat16(v));
  return HostTensor::Of<Float16>(DType::kF16, std::move(dims), halves);
}

// Conv then BatchNormalization on f16 with one channel.
Graph HalfGraph(float weight, float gamma, float var) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {1, 1, 2, 2}));
  Value& w = graph.AddConstant(Halves({1, 1, 1, 1}, {weight}), "w");
  Node& conv = graph.AddNode({.op = "Conv", .inputs = {&x, &w}});
  const auto one = [&](float v) { return &graph.AddConstant(Halves({1}, {v})); };
  Node& bn = graph.AddNode({.op = "BatchNormalization",
                            .inputs = {&conv.output(0), one(gamma), one(0), one(0), one(var)},
                            .attrs = {{"epsilon", 0.0f}}});
  for (Node* node : {&conv, &bn}) graph.SetType(node->output(0), x.type());
  graph.AddOutput("y", bn.output(0));
  return graph;
}

TEST(FoldBatchNormTest, RoundsHalvesOnce) {
  Graph graph =
      HalfGraph(0.1f, 3, 1);  // 0.099975586 * 3 = 0.29992676, in f16 0.30004883 - 0.00024414
  PassContext context;
  ASSERT_TRUE(*FoldBatchNorm()->Run(graph, context));
  const Node& conv = *graph.TopologicalOrder()[0];
  const float expected = ToFloat(ToFloat16(ToFloat(ToFloat16(0.1f)) * 3));
  EXPECT_EQ(ToFloat(conv.input(1).constant().data<Float16>()[0]), expected);
}

TEST(FoldBatchNormTest, LeavesHalvesThatWouldOverflow) {
  Graph graph = HalfGraph(60000, 4, 1);
  std::vector<Remark> remarks;
  PassContext context{.remarks = &remarks};
  EXPECT_FALSE(*FoldBatchNorm()->Run(graph, context));
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].reason, "a folded weight is not finite in its type");
}

TEST(FoldBatchNormTest, FreesTheOldWeightsAtOnce) {
  Graph graph = HalfGraph(1, 2, 1);
  auto bytes = std::make_shared<std::vector<Float16>>(1, ToFloat16(1));
  const std::weak_ptr<std::vector<Float16>> alive = bytes;
  Node& conv = *graph.TopologicalOrder()[0];
  const void* data = bytes->data();
  graph.SetInput(
      conv, 1,
      &graph.AddConstant(HostTensor::Borrow(DType::kF16, {1, 1, 1, 1}, data, std::move(bytes))));
  PassContext context;
  ASSERT_TRUE(*FoldBatchNorm()->Run(graph, context));
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace onnx_cudnn
