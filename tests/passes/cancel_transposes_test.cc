#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(CancelTransposesTest, DropsATransposeAndItsReverse) {
  ExpectRewrite(CancelTransposes(), R"(
      g (float[2,3,4] x) => (float[2,3,4] y)
      { t = Transpose<perm = [1, 2, 0]>(x)
        u = Transpose<perm = [2, 0, 1]>(t)
        y = Relu(u) })",
                "g (f32[2,3,4] x) => (f32[2,3,4] y) { y = Relu(x) }");
}

TEST(CancelTransposesTest, ComposesTwoIntoOne) {  // dims [2,3,4] -> [3,4,2] -> [4,2,3]
  ExpectRewrite(CancelTransposes(), R"(
      g (float[2,3,4] x) => (float[4,2,3] y)
      { t = Transpose<perm = [1, 2, 0]>(x)
        y = Transpose<perm = [1, 2, 0]>(t) })",
                "g (f32[2,3,4] x) => (f32[4,2,3] y) { y = Transpose<perm = [2, 0, 1]>(x) }");
}

TEST(CancelTransposesTest, ComposesAChain) {
  ExpectRewrite(CancelTransposes(), R"(
      g (float[2,3,4] x) => (float[2,3,4] y)
      { a = Transpose<perm = [1, 2, 0]>(x)
        b = Transpose<perm = [1, 2, 0]>(a)
        c = Transpose<perm = [1, 2, 0]>(b)
        y = Relu(c) })",
                "g (f32[2,3,4] x) => (f32[2,3,4] y) { y = Relu(x) }");
}

TEST(CancelTransposesTest, KeepsTheFirstForItsOtherUsers) {
  ExpectRewrite(
      CancelTransposes(), R"(
      g (float[2,3] x) => (float[3,2] t, float[2,3] y)
      { t = Transpose<perm = [1, 0]>(x)
        u = Transpose<perm = [1, 0]>(t)
        y = Relu(u) })",
      "g (f32[2,3] x) => (f32[3,2] t, f32[2,3] y) { t = Transpose<perm = [1, 0]>(x) y = Relu(x) }");
}

TEST(CancelTransposesTest, DropsAPermThatKeepsTheOrder) {
  ExpectRewrite(CancelTransposes(), R"(
      g (float[2,3] x) => (float[2,3] y)
      { t = Transpose<perm = [0, 1]>(x)
        y = Relu(t) })",
                "g (f32[2,3] x) => (f32[2,3] y) { y = Relu(x) }");
}

TEST(CancelTransposesTest, TakesTheDefaultPerm) {
  ExpectRewrite(CancelTransposes(), R"(
      g (float[2,3,4] x) => (float[2,3,4] y)
      { t = Transpose(x)
        u = Transpose<perm = [2, 1, 0]>(t)
        y = Relu(u) })",
                "g (f32[2,3,4] x) => (f32[2,3,4] y) { y = Relu(x) }");
}

TEST(CancelTransposesTest, LeavesATransposeAlone) {
  ExpectNoRewrite(CancelTransposes(), R"(
      g (float[2,3] x) => (float[3,2] y)
      { t = Relu(x)
        y = Transpose<perm = [1, 0]>(t) })",
                  "input 0 is not a Transpose");
}

}  // namespace
}  // namespace onnx_cudnn
