#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// A product whose result, channels-last, becomes channels-first before `nodes`.
std::string Of(std::string_view nodes, std::string_view inputs = "",
               std::string_view constants = "") {
  return absl::StrCat("g (float[1,2,2,3] x", inputs, ") => (y) <float[3,2] w = {1, 2, 3, 4, 5, 6}",
                      constants, "> { p = MatMul(x, w) t = Transpose<perm = [0, 3, 1, 2]>(p) ",
                      nodes, " }");
}

constexpr std::string_view kFactor = ", float[2,1,1] c = {7, 8}";

TEST(SinkTransposesTest, AFactorPerChannelIsTurned) {
  ExpectRewrite(SinkTransposes(), Of("y = Mul(c, t)", "", kFactor),
                "g (f32[1,2,2,3] x) => (f32[1,2,2,2] y = transpose) { "
                "p = MatMul(x, {1, 2, 3, 4, 5, 6}) y_1 = Mul({7, 8}, p) "
                "transpose = Transpose<perm = [0, 3, 1, 2]>(y_1) }");
}

TEST(SinkTransposesTest, ASumOfTwoThatAreTransposedSo) {
  ExpectRewrite(SinkTransposes(),
                Of("u = Transpose<perm = [0, 3, 1, 2]>(z) y = Add(t, u)", ", float[1,2,2,2] z"),
                "g (f32[1,2,2,3] x, f32[1,2,2,2] z) => (f32[1,2,2,2] y = transpose) { "
                "p = MatMul(x, {1, 2, 3, 4, 5, 6}) y_0 = Add(p, z) "
                "transpose = Transpose<perm = [0, 3, 1, 2]>(y_0) }");
}

// What a Conv writes channels last is not moved by the Transpose that is added.
TEST(SinkTransposesTest, AResidualFromAConv) {
  ExpectRewrite(
      SinkTransposes(), Of("r = Conv(z, k) y = Add(t, r)", ", float[1,2,2,2] z, float[2,2,1,1] k"),
      "g (f32[1,2,2,3] x, f32[1,2,2,2] z, f32[2,2,1,1] k) => (f32[1,2,2,2] y = transpose_1) { "
      "p = MatMul(x, {1, 2, 3, 4, 5, 6}) r = Conv(z, k) "
      "transpose = Transpose<perm = [0, 2, 3, 1]>(r) y_0 = Add(p, transpose) "
      "transpose_1 = Transpose<perm = [0, 3, 1, 2]>(y_0) }");
}

TEST(SinkTransposesTest, BehindTheFactorAndTheSum) {
  const std::string text = Of("m = Mul(t, c) r = Conv(z, k) s = Add(r, m) y = Relu(s)",
                              ", float[1,2,2,2] z, float[2,2,1,1] k", kFactor);
  ExpectSameNumbers(SinkTransposes(), text, 1e-5F);
}

TEST(SinkTransposesTest, StaysWhereItWouldNotPay) {
  const char* kOther = "an operand is not transposed so";
  ExpectNoRewrite(SinkTransposes(), Of("y = Add(t, z)", ", float[1,2,2,2] z"), kOther);
  // Its axes do not follow from its extents.
  ExpectNoRewrite(SinkTransposes(), Of("y = Mul(t, d)", "", ", float[2,2,1] d = {1, 2, 3, 4}"),
                  kOther);
  // Another order of the axes.
  ExpectNoRewrite(SinkTransposes(),
                  Of("u = Transpose<perm = [0, 1, 3, 2]>(z) y = Add(t, u)", ", float[1,2,2,2] z"),
                  kOther);
  // The Transpose has another reader, so that there would be two.
  ExpectNoRewrite(SinkTransposes(), Of("y = Mul(t, c) z = Identity(t)", "", kFactor), "");
  // No product.
  ExpectNoRewrite(SinkTransposes(),
                  "g (float[1,2,2,3] x) => (y) { t = Transpose<perm = [0, 3, 1, 2]>(x) "
                  "y = Relu(t) }",
                  "");
}

}  // namespace
}  // namespace onnx_cudnn
