#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

std::string IfText(std::string_view inputs, std::string_view constants) {
  return absl::StrCat("g (", inputs, ") => (float[2] y) ", constants, R"(
      { t = Abs(x)
        z = If(c) <
          then_branch = a () => (float[2] p) <float[2] k = {1, 2}> { u = Neg(t) p = Add(u, k) },
          else_branch = b () => (float[2] q) { q = Mul(t, x) }>
        y = Relu(z) })");
}

TEST(InlineConstantIfTest, TakesTheThenBranch) {
  ExpectRewrite(InlineConstantIf(), IfText("float[2] x", "<bool c = {1}>"),
                R"(g (f32[2] x) => (f32[2] y) {
                     t = Abs(x) u = Neg(t) p = Add(u, {1, 2}) y = Relu(p) })");
}

TEST(InlineConstantIfTest, TakesTheElseBranch) {
  ExpectRewrite(InlineConstantIf(), IfText("float[2] x", "<bool c = {0}>"),
                R"(g (f32[2] x) => (f32[2] y) { t = Abs(x) q = Mul(t, x) y = Relu(q) })");
}

TEST(InlineConstantIfTest, TakesABranchThatIsAConstant) {
  ExpectRewrite(InlineConstantIf(), R"(
      g (float[2] x) => (float[2] y) <bool c = {1}>
      { z = If(c) <
          then_branch = a () => (float[2] p) <float[2] p = {1, 2}> { },
          else_branch = b () => (float[2] q) { q = Relu(x) }>
        y = Add(x, z) })",
                "g (f32[2] x) => (f32[2] y) { y = Add(x, {1, 2}) }");
}

TEST(InlineConstantIfTest, InlinesAnIfWithinABranch) {
  ExpectRewrite(InlineConstantIf(), R"(
      g (float[2] x) => (float[2] y) <bool c = {1}>
      { y = If(c) <
          then_branch = a () => (float[2] p) <bool d = {0}>
            { p = If(d) <
                then_branch = e () => (float[2] r) { r = Abs(x) },
                else_branch = f () => (float[2] s) { s = Neg(x) }> },
          else_branch = b () => (float[2] q) { q = Relu(x) }> })",
                "g (f32[2] x) => (f32[2] y = s) { s = Neg(x) }");
}

TEST(InlineConstantIfTest, LeavesAConditionThatIsAnInput) {
  ExpectNoRewrite(InlineConstantIf(), IfText("float[2] x, bool c", ""),
                  "the condition is not a constant");
}

}  // namespace
}  // namespace onnx_cudnn
