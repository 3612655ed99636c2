#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(FoldScaleTest, FoldsAFactorAfterConv) {
  ExpectRewrite(FoldScale(), R"(
      g (float[1,1,3,2] x) => (float[1,2,3,2] y)
        <float[2,1,1,1] w = {3, 4}, float[2] b = {1, 2}, float[2,1,1] c = {5, 6}>
      { t = Conv(x, w, b)
        y = Mul(t, c) })",
                "g (f32[1,1,3,2] x) => (f32[1,2,3,2] y = t) { t = Conv(x, {15, 24}, {5, 12}) }");
}

TEST(FoldScaleTest, FoldsADivisor) {
  ExpectRewrite(FoldScale(), R"(
      g (float[1,1,3,2] x) => (float[1,2,3,2] y) <float[2,1,1,1] w = {3, 4}, float c = {2}>
      { t = Conv(x, w)
        y = Div(t, c) })",
                "g (f32[1,1,3,2] x) => (f32[1,2,3,2] y = t) { t = Conv(x, {1.5, 2}) }");
}

TEST(FoldScaleTest, FoldsIntoTheColumnsOfAGroupedConvTranspose) {  // groups of one row, two columns
  ExpectRewrite(FoldScale(), R"(
      g (float[1,2,3] x) => (float[1,4,3] y)
        <float[2,2,1] w = {1, 2, 3, 4}, float[1,4,1] c = {10, 20, 30, 40}>
      { t = ConvTranspose<group = 2>(x, w)
        y = Mul(c, t) })",
                "g (f32[1,2,3] x) => (f32[1,4,3] y = t) "
                "{ t = ConvTranspose<group = 2>(x, {10, 40, 90, 160}) }");
}

TEST(FoldScaleTest, FoldsIntoGemmWithItsBias) {
  ExpectRewrite(
      FoldScale(), R"(
      g (float[3,1] x) => (float[3,2] y)
        <float[2,1] w = {3, 4}, float[2] b = {1, 2}, float[2] c = {5, 6}>
      { t = Gemm<transB = 1>(x, w, b)
        y = Mul(t, c) })",
      "g (f32[3,1] x) => (f32[3,2] y = t) { t = Gemm<transB = 1>(x, {15, 24}, {5, 12}) }");
}

TEST(FoldScaleTest, FoldsIntoMatMulOfHigherRank) {
  ExpectRewrite(FoldScale(), R"(
      g (float[4,3,1] x) => (float[4,3,2] y) <float[1,2] w = {3, 4}, float[2] c = {5, 6}>
      { t = MatMul(x, w)
        y = Mul(t, c) })",
                "g (f32[4,3,1] x) => (f32[4,3,2] y = t) { t = MatMul(x, {15, 24}) }");
}

TEST(FoldScaleTest, FoldsThroughAnAddedConstant) {
  ExpectRewrite(FoldScale(), R"(
      g (float[2,3,1] x) => (float[2,3,2] y)
        <float[1,2] w = {3, 4}, float[2] b = {1, 2}, float[2] c = {5, 6}>
      { t = MatMul(x, w)
        a = Add(b, t)
        y = Mul(a, c) })",
                "g (f32[2,3,1] x) => (f32[2,3,2] y = a) "
                "{ t = MatMul(x, {15, 24}) a = Add({5, 12}, t) }");
}

TEST(FoldScaleTest, LeavesASumWithOtherUsersOrOtherAddends) {
  ExpectNoRewrite(FoldScale(), R"(
      g (float[2,3,1] x) => (y, a)
        <float[1,2] w = {3, 4}, float[2] b = {1, 2}, float[2] c = {5, 6}>
      { t = MatMul(x, w)
        a = Add(b, t)
        y = Mul(a, c) })",
                  "the product has other users");
  ExpectNoRewrite(FoldScale(), R"(
      g (float[2,3,1] x) => (y)
        <float[1,2] w = {3, 4}, float[3,1] b = {1, 2, 3}, float[2] c = {5, 6}>
      { t = MatMul(x, w)
        a = Add(b, t)
        y = Mul(a, c) })",
                  "the factor is not one per channel");
}

TEST(FoldScaleTest, FoldsAFactorBeforeAPaddedConv) {  // two groups of one input channel each
  ExpectRewrite(FoldScale(), R"(
      g (float[1,2,3] x) => (float[1,2,5] y) <float[2,1,1] w = {3, 4}, float[1,2,1] c = {5, 6}>
      { t = Mul(x, c)
        y = Conv<group = 2, pads = [1, 1]>(t, w) })",
                "g (f32[1,2,3] x) => (f32[1,2,5] y) "
                "{ y = Conv<group = 2, pads = [1, 1]>(x, {15, 24}) }");
}

TEST(FoldScaleTest, FoldsAFactorBeforeGemm) {
  ExpectRewrite(FoldScale(), R"(
      g (float[3,2] x) => (float[3,1] y) <float[2,1] w = {3, 4}, float[2] c = {5, 6}>
      { t = Mul(x, c)
        y = Gemm(t, w) })",
                "g (f32[3,2] x) => (f32[3,1] y) { y = Gemm(x, {15, 24}) }");
}

TEST(FoldScaleTest, LeavesAProductWithOtherUsers) {
  ExpectNoRewrite(FoldScale(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y, float[1,1,3] t) <float[1,1,1] w = {3}, float c = {2}>
      { t = Conv(x, w)
        y = Mul(t, c) })",
                  "the product has other users");
}

TEST(FoldScaleTest, LeavesAFactorAlongTheWidth) {
  ExpectNoRewrite(FoldScale(), R"(
      g (float[1,1,2] x) => (float[1,2,2] y) <float[2,1,1] w = {3, 4}, float[2] c = {5, 6}>
      { t = Conv(x, w)
        y = Mul(t, c) })",
                  "the factor is not one per channel");
}

TEST(FoldScaleTest, LeavesAFactorThatWidensTheChannels) {
  ExpectNoRewrite(FoldScale(), R"(
      g (float[1,1,2] x) => (float[1,1,2] y) <float[1,2,1] w = {3, 4}, float[1,2,1] c = {5, 6}>
      { t = Mul(x, c)
        y = Conv(t, w) })",
                  "the input's channels are not known");
}

TEST(FoldScaleTest, LeavesWeightsThatAreInputs) {
  ExpectNoRewrite(FoldScale(), R"(
      g (float[1,1,2] x, float[1,1,1] w) => (float[1,1,2] y) <float c = {2}>
      { t = Conv(x, w)
        y = Mul(t, c) })",
                  "the weight is not a constant");
}

TEST(FoldScaleTest, LeavesABiasThatIsAnInput) {
  ExpectNoRewrite(FoldScale(), R"(
      g (float[1,1,2] x, float[1] b) => (float[1,1,2] y) <float[1,1,1] w = {3}, float c = {2}>
      { t = Conv(x, w, b)
        y = Mul(t, c) })",
                  "the bias is not a constant of one per channel");
}

TEST(FoldScaleTest, LeavesADivisionByZero) {
  ExpectNoRewrite(FoldScale(), R"(
      g (float[1,1,2] x) => (float[1,1,2] y) <float[1,1,1] w = {3}, float c = {0}>
      { t = Conv(x, w)
        y = Div(t, c) })",
                  "a folded weight is not finite in its type");
}

TEST(FoldScaleTest, LeavesAReciprocal) {  // c / x is no scaling of x
  ExpectNoRewrite(FoldScale(), R"(
      g (float[1,1,2] x) => (float[1,1,2] y) <float[1,1,1] w = {3}, float c = {2}>
      { t = Conv(x, w)
        y = Div(c, t) })",
                  "");
}

TEST(FoldScaleTest, LeavesAnAddBeforeAPaddedConv) {  // the padding would be shifted too
  ExpectNoRewrite(FoldScale(), R"(
      g (float[1,1,3] x) => (float[1,1,5] y) <float[1,1,1] w = {3}, float c = {2}>
      { t = Add(x, c)
        y = Conv<pads = [1, 1]>(t, w) })",
                  "");
}

}  // namespace
}  // namespace onnx_cudnn
