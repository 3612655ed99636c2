#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(DeadCodeTest, RemovesUnusedNodes) {
  ExpectRewrite(DeadCode(), "g (float[2] x) => (float[2] y) { a = Neg(x) b = Relu(a) y = Abs(x) }",
                "g (f32[2] x) => (f32[2] y) { y = Abs(x) }");
}

TEST(DeadCodeTest, LooksIntoBodies) {
  ExpectRewriteInBranch(DeadCode(), "t = Relu(x) p = Abs(x)", "p = Abs(x)");
}

TEST(DeadCodeTest, KeepsANodeWithOneUsedOutput) {
  ExpectNoRewrite(DeadCode(), R"(
      g (float[4] x) => (float[2] b) <int64[2] s = {2, 2}> { a, b = Split(x, s) })",
                  "");
}

}  // namespace
}  // namespace onnx_cudnn
