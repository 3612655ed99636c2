#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(FoldConstantChainsTest, JoinsFactors) {
  ExpectRewrite(FoldConstantChains(), R"(
      g (float[2,3] x) => (float[2,3] y) <float c = {2}, float[3] d = {1, 2, 3}, float e = {0.5}>
      { t = Mul(x, c)
        u = Mul(d, t)
        y = Mul(u, e) })",
                "g (f32[2,3] x) => (f32[2,3] y) { y = Mul(x, {1, 2, 3}) }");
}

TEST(FoldConstantChainsTest, JoinsTerms) {
  ExpectRewrite(FoldConstantChains(), R"(
      g (float[2,3] x) => (float[2,3] y) <float[2,1] c = {1, 2}, float[2,1] d = {3, 0}>
      { t = Add(x, c)
        y = Add(t, d) })",
                "g (f32[2,3] x) => (f32[2,3] y) { y = Add(x, {4, 2}) }");
}

TEST(FoldConstantChainsTest, WrapsIntegers) {  // 100 + 100 - 7 of 8 bits
  ExpectRewrite(FoldConstantChains(), R"(
      g (int8[2] x) => (int8[2] y) <int8 c = {100}, int8 d = {100}, int8 e = {-7}>
      { t = Add(x, c)
        u = Add(t, d)
        y = Add(u, e) })",
                "g (i8[2] x) => (i8[2] y) { y = Add(x, {-63}) }");
}

TEST(FoldConstantChainsTest, LeavesTermsThatCancel) {  // they round x to whole numbers
  ExpectNoRewrite(FoldConstantChains(), R"(
      g (float[2] x) => (float[2] y) <float c = {12582912}, float d = {-12582912}>
      { t = Add(x, c)
        y = Add(t, d) })",
                  "the constants cancel");
}

TEST(FoldConstantChainsTest, LeavesAProductThatUnderflows) {
  ExpectNoRewrite(FoldConstantChains(), R"(
      g (float[2] x) => (float[2] y) <float c = {1e-30}, float d = {1e-30}>
      { t = Mul(x, c)
        y = Mul(t, d) })",
                  "a product of the constants is not a normal number");
}

TEST(FoldConstantChainsTest, LeavesASumThatOverflows) {
  ExpectNoRewrite(FoldConstantChains(), R"(
      g (float[2] x) => (float[2] y) <float c = {3e38}, float d = {3e38}>
      { t = Add(x, c)
        y = Add(t, d) })",
                  "a sum of the constants is not finite");
}

TEST(FoldConstantChainsTest, LeavesARowAndAColumn) {
  ExpectNoRewrite(FoldConstantChains(), R"(
      g (float[2,3] x) => (float[2,3] y) <float[3] c = {1, 2, 3}, float[2,1] d = {4, 5}>
      { t = Mul(x, c)
        y = Mul(t, d) })",
                  "together the constants have more elements");
}

TEST(FoldConstantChainsTest, LeavesAnInputWithOtherUsers) {
  ExpectNoRewrite(FoldConstantChains(), R"(
      g (float[2] x) => (float[2] y, float[2] z) <float c = {2}, float d = {3}>
      { y = Mul(x, c)
        z = Mul(y, d) })",
                  "its input has other users");
}

}  // namespace
}  // namespace onnx_cudnn
