#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(FoldBiasTest, FoldsOnePerChannelIntoConv) {
  ExpectRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x) => (float[1,2,3,2] y) <float[2,1,1,1] w = {3, 4}, float[1,2,1,1] c = {5, 6}>
      { t = Conv(x, w)
        y = Add(t, c) })",
                "g (f32[1,1,3,2] x) => (f32[1,2,3,2] y = t) { t = Conv(x, {3, 4}, {5, 6}) }");
}

TEST(FoldBiasTest, AddsToTheBiasOfConv) {
  ExpectRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x) => (float[1,2,3,2] y)
        <float[2,1,1,1] w = {3, 4}, float[2] b = {10, 20}, float[2,1,1] c = {5, 6}>
      { t = Conv(x, w, b)
        y = Add(c, t) })",
                "g (f32[1,1,3,2] x) => (f32[1,2,3,2] y = t) { t = Conv(x, {3, 4}, {15, 26}) }");
}

TEST(FoldBiasTest, SpreadsAScalarOverChannels) {
  ExpectRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x) => (float[1,2,3,2] y) <float[2,1,1,1] w = {3, 4}, float c = {5}>
      { t = Conv(x, w)
        y = Add(t, c) })",
                "g (f32[1,1,3,2] x) => (f32[1,2,3,2] y = t) { t = Conv(x, {3, 4}, {5, 5}) }");
}

TEST(FoldBiasTest, FoldsIntoAGroupedConvTranspose) {
  ExpectRewrite(FoldBias(), R"(
      g (float[1,2,3] x) => (float[1,2,3] y) <float[2,1,1] w = {3, 4}, float[1,2,1] c = {5, 6}>
      { t = ConvTranspose<group = 2>(x, w)
        y = Add(t, c) })",
                "g (f32[1,2,3] x) => (f32[1,2,3] y = t) "
                "{ t = ConvTranspose<group = 2>(x, {3, 4}, {5, 6}) }");
}

TEST(FoldBiasTest, FoldsIntoGemm) {
  ExpectRewrite(FoldBias(), R"(
      g (float[3,1] x) => (float[3,2] y) <float[2,1] w = {3, 4}, float[2] b = {1, 2}, float[2] c = {5, 6}>
      { t = Gemm<transB = 1>(x, w, b)
        y = Add(t, c) })",
                "g (f32[3,1] x) => (f32[3,2] y = t) { t = Gemm<transB = 1>(x, {3, 4}, {6, 8}) }");
}

TEST(FoldBiasTest, MakesMatMulAndAddAGemm) {
  ExpectRewrite(FoldBias(), R"(
      g (float[3,1] x) => (float[3,2] y) <float[1,2] w = {3, 4}, float[2] c = {5, 6}>
      { t = MatMul(x, w)
        y = Add(t, c) })",
                "g (f32[3,1] x) => (f32[3,2] y = t_1) { t_1 = Gemm(x, {3, 4}, {5, 6}) }");
}

TEST(FoldBiasTest, LeavesAnAddendThatVariesAlongTheWidth) {  // [2] aligns with the last dim
  ExpectNoRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x) => (float[1,2,3,2] y) <float[2,1,1,1] w = {3, 4}, float[2] c = {5, 6}>
      { t = Conv(x, w)
        y = Add(t, c) })",
                  "the addend is not one per channel");
}

TEST(FoldBiasTest, LeavesAnAddendThatWidensTheChannels) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x) => (float[1,2,3,2] y) <float[1,1,1,1] w = {3}, float[1,2,1,1] c = {5, 6}>
      { t = Conv(x, w)
        y = Add(t, c) })",
                  "the addend is not one per channel");
}

TEST(FoldBiasTest, LeavesAnAddendOfHigherRank) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x) => (float[1,1,2,3,2] y) <float[2,1,1,1] w = {3, 4}, float[1,1,2,1,1] c = {5, 6}>
      { t = Conv(x, w)
        y = Add(t, c) })",
                  "the addend is not one per channel");
}

TEST(FoldBiasTest, LeavesAConvWithOtherUsers) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x) => (float[1,2,3,2] y, float[1,2,3,2] t) <float[2,1,1,1] w = {3, 4}, float c = {5}>
      { t = Conv(x, w)
        y = Add(t, c) })",
                  "the product has other users");
}

TEST(FoldBiasTest, LeavesABiasThatIsAnInput) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x, float[2] b) => (float[1,2,3,2] y) <float[2,1,1,1] w = {3, 4}, float c = {5}>
      { t = Conv(x, w, b)
        y = Add(t, c) })",
                  "the bias is not a constant");
}

TEST(FoldBiasTest, LeavesAScaledBiasOfGemm) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[3,1] x) => (float[3,2] y) <float[1,2] w = {3, 4}, float[2] b = {1, 2}, float[2] c = {5, 6}>
      { t = Gemm<beta = 2.0>(x, w, b)
        y = Add(t, c) })",
                  "beta is not 1");
}

TEST(FoldBiasTest, LeavesARowWiseAddendOfGemm) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[3,1] x) => (float[3,2] y) <float[1,2] w = {3, 4}, float[3,1] c = {5, 6, 7}>
      { t = Gemm(x, w)
        y = Add(t, c) })",
                  "the addend is not one per column");
}

TEST(FoldBiasTest, LeavesAMatMulOfHigherRank) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[4,3,1] x) => (float[4,3,2] y) <float[1,2] w = {3, 4}, float[2] c = {5, 6}>
      { t = MatMul(x, w)
        y = Add(t, c) })",
                  "input 0 is not of rank 2");
}

TEST(FoldBiasTest, LeavesAMatMulOfTwoInputs) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[3,1] x, float[1,2] w) => (float[3,2] y) <float[2] c = {5, 6}>
      { t = MatMul(x, w)
        y = Add(t, c) })",
                  "input 1 is not a constant of rank 2");
}

TEST(FoldBiasTest, LeavesABiasThatWouldOverflow) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x) => (float[1,1,3,2] y)
        <float[1,1,1,1] w = {3}, float[1] b = {3e38}, float c = {3e38}>
      { t = Conv(x, w, b)
        y = Add(t, c) })",
                  "a folded bias is not finite in its type");
}

TEST(FoldBiasTest, LeavesAResidualAlone) {
  ExpectNoRewrite(FoldBias(), R"(
      g (float[1,1,3,2] x) => (float[1,1,3,2] y) <float[1,1,1,1] w = {3}>
      { t = Conv(x, w)
        y = Add(t, x) })",
                  "");
}

}  // namespace
}  // namespace onnx_cudnn
