#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// The Graph in which c is added to the product t.
std::string SumOf(std::string_view border, std::string_view constants, std::string_view product,
                  std::string_view sum = "Add(t, c)") {
  return absl::StrCat("g ", border, " <", constants, "> { t = ", product, " y = ", sum, " }");
}

void ExpectFolds(std::string_view border, std::string_view constants, std::string_view product,
                 std::string_view after, std::string_view sum = "Add(t, c)") {
  ExpectRewrite(FoldBias(), SumOf(border, constants, product, sum), after);
}

void ExpectStays(std::string_view border, std::string_view constants, std::string_view product,
                 std::string_view reason) {
  ExpectNoRewrite(FoldBias(), SumOf(border, constants, product), reason);
}

TEST(FoldBiasTest, FoldsOnePerChannelIntoConv) {
  ExpectFolds("(float[1,1,3,2] x) => (float[1,2,3,2] y)",
              "float[2,1,1,1] w = {3, 4}, float[1,2,1,1] c = {5, 6}", "Conv(x, w)",
              "g (f32[1,1,3,2] x) => (f32[1,2,3,2] y = t) { t = Conv(x, {3, 4}, {5, 6}) }");
}

TEST(FoldBiasTest, AddsToTheBiasOfConv) {
  ExpectFolds(
      "(float[1,1,3,2] x) => (float[1,2,3,2] y)",
      "float[2,1,1,1] w = {3, 4}, float[2] b = {10, 20}, float[2,1,1] c = {5, 6}", "Conv(x, w, b)",
      "g (f32[1,1,3,2] x) => (f32[1,2,3,2] y = t) { t = Conv(x, {3, 4}, {15, 26}) }", "Add(c, t)");
}

TEST(FoldBiasTest, SpreadsAScalarOverChannels) {
  ExpectFolds("(float[1,1,3,2] x) => (float[1,2,3,2] y)",
              "float[2,1,1,1] w = {3, 4}, float c = {5}", "Conv(x, w)",
              "g (f32[1,1,3,2] x) => (f32[1,2,3,2] y = t) { t = Conv(x, {3, 4}, {5, 5}) }");
}

TEST(FoldBiasTest, FoldsIntoAGroupedConvTranspose) {
  ExpectFolds("(float[1,2,3] x) => (float[1,2,3] y)",
              "float[2,1,1] w = {3, 4}, float[1,2,1] c = {5, 6}", "ConvTranspose<group = 2>(x, w)",
              "g (f32[1,2,3] x) => (f32[1,2,3] y = t) "
              "{ t = ConvTranspose<group = 2>(x, {3, 4}, {5, 6}) }");
}

TEST(FoldBiasTest, FoldsIntoGemm) {
  ExpectFolds("(float[3,1] x) => (float[3,2] y)",
              "float[2,1] w = {3, 4}, float[2] b = {1, 2}, float[2] c = {5, 6}",
              "Gemm<transB = 1>(x, w, b)",
              "g (f32[3,1] x) => (f32[3,2] y = t) { t = Gemm<transB = 1>(x, {3, 4}, {6, 8}) }");
}

TEST(FoldBiasTest, MakesMatMulAndAddAGemm) {
  ExpectFolds("(float[3,1] x) => (float[3,2] y)", "float[1,2] w = {3, 4}, float[2] c = {5, 6}",
              "MatMul(x, w)",
              "g (f32[3,1] x) => (f32[3,2] y = t_1) { t_1 = Gemm(x, {3, 4}, {5, 6}) }");
}

TEST(FoldBiasTest, LeavesAnAddendThatVariesAlongTheWidth) {  // [2] aligns with the last dim
  ExpectStays("(float[1,1,3,2] x) => (float[1,2,3,2] y)",
              "float[2,1,1,1] w = {3, 4}, float[2] c = {5, 6}", "Conv(x, w)",
              "the addend is not one per channel");
}

TEST(FoldBiasTest, LeavesAnAddendThatWidensTheChannels) {
  ExpectStays("(float[1,1,3,2] x) => (float[1,2,3,2] y)",
              "float[1,1,1,1] w = {3}, float[1,2,1,1] c = {5, 6}", "Conv(x, w)",
              "the addend is not one per channel");
}

TEST(FoldBiasTest, LeavesAnAddendOfHigherRank) {
  ExpectStays("(float[1,1,3,2] x) => (float[1,1,2,3,2] y)",
              "float[2,1,1,1] w = {3, 4}, float[1,1,2,1,1] c = {5, 6}", "Conv(x, w)",
              "the addend is not one per channel");
}

TEST(FoldBiasTest, LeavesAConvWithOtherUsers) {
  ExpectStays("(float[1,1,3,2] x) => (float[1,2,3,2] y, float[1,2,3,2] t)",
              "float[2,1,1,1] w = {3, 4}, float c = {5}", "Conv(x, w)",
              "the product has other users");
}

TEST(FoldBiasTest, LeavesABiasThatIsAnInput) {
  ExpectStays("(float[1,1,3,2] x, float[2] b) => (float[1,2,3,2] y)",
              "float[2,1,1,1] w = {3, 4}, float c = {5}", "Conv(x, w, b)",
              "the bias is not a constant");
}

TEST(FoldBiasTest, LeavesAScaledBiasOfGemm) {
  ExpectStays("(float[3,1] x) => (float[3,2] y)",
              "float[1,2] w = {3, 4}, float[2] b = {1, 2}, float[2] c = {5, 6}",
              "Gemm<beta = 2.0>(x, w, b)", "beta is not 1");
}

TEST(FoldBiasTest, LeavesARowWiseAddendOfGemm) {
  ExpectStays("(float[3,1] x) => (float[3,2] y)", "float[1,2] w = {3, 4}, float[3,1] c = {5, 6, 7}",
              "Gemm(x, w)", "the addend is not one per column");
}

TEST(FoldBiasTest, LeavesAMatMulOfHigherRank) {
  ExpectStays("(float[4,3,1] x) => (float[4,3,2] y)", "float[1,2] w = {3, 4}, float[2] c = {5, 6}",
              "MatMul(x, w)", "input 0 is not of rank 2");
}

TEST(FoldBiasTest, LeavesAMatMulOfTwoInputs) {
  ExpectStays("(float[3,1] x, float[1,2] w) => (float[3,2] y)", "float[2] c = {5, 6}",
              "MatMul(x, w)", "input 1 is not a constant of rank 2");
}

TEST(FoldBiasTest, LeavesABiasThatWouldOverflow) {
  ExpectStays("(float[1,1,3,2] x) => (float[1,1,3,2] y)",
              "float[1,1,1,1] w = {3}, float[1] b = {3e38}, float c = {3e38}", "Conv(x, w, b)",
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
