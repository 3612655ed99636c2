#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// Expects that the Transposes before and behind u, made of t by `node`, stay.
void ExpectStays(std::string_view border, std::string_view perm, std::string_view node,
                 std::string_view reason) {
  const std::string transpose = absl::StrCat("Transpose<perm = ", perm, ">");
  ExpectNoRewrite(CancelTransposes(),
                  absl::StrCat("g ", border, " { t = ", transpose, "(x) u = ", node,
                               " y = ", transpose, "(u) }"),
                  reason);
}

TEST(CancelTransposesTest, DropsATransposeAndItsReverse) {
  ExpectRewrite(CancelTransposes(), R"(
      g (float[2,3,4] x) => (float[2,3,4] y)
      { t = Transpose<perm = [1, 2, 0]>(x)
        u = Transpose<perm = [2, 0, 1]>(t)
        y = Relu(u) })",
                "g (f32[2,3,4] x) => (f32[2,3,4] y) { y = Relu(x) }");
}

TEST(CancelTransposesTest, ComposesTwoIntoOne) {
  const auto expect = [](std::string_view first, std::string_view second, std::string_view dims,
                         std::string_view composed) {
    ExpectRewrite(
        CancelTransposes(),
        absl::Substitute("g (float[2,3,4] x) => (float[$0] y) "
                         "{ t = Transpose<perm = $1>(x) y = Transpose<perm = $2>(t) }",
                         dims, first, second),
        absl::Substitute("g (f32[2,3,4] x) => (f32[$0] y) { y = Transpose<perm = $1>(x) }", dims,
                         composed));
  };
  expect("[1, 2, 0]", "[1, 2, 0]", "4,2,3", "[2, 0, 1]");  // [2,3,4] -> [3,4,2] -> [4,2,3]
  expect("[1, 0, 2]", "[0, 2, 1]", "3,4,2", "[1, 2, 0]");  // the other way round: [2, 0, 1]
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

TEST(CancelTransposesTest, CancelsAroundElementwiseNodes) {
  ExpectRewrite(CancelTransposes(), R"(
      g (float[2,3,4] x) => (float[2,3,4] y) <float c = {0.5}>
      { t = Transpose<perm = [1, 2, 0]>(x)
        u = Relu(t)
        v = Mul(u, c)
        y = Transpose<perm = [2, 0, 1]>(v) })",
                R"(g (f32[2,3,4] x) => (f32[2,3,4] y = v_1) {
        u_0 = Relu(x) v_1 = Mul(u_0, {0.5}) })");
}

TEST(CancelTransposesTest, CancelsAroundASum) {  // one Transpose for three, and x read twice
  ExpectRewrite(CancelTransposes(), R"(
      g (float[N,2,3,4] a, float[N,2,3,4] b) => (float[N,2,3,4] y)
      { s = Transpose<perm = [0, 2, 3, 1]>(a)
        t = Transpose<perm = [0, 2, 3, 1]>(b)
        p = Sigmoid(s)
        q = Mul(s, p)
        r = Add(q, t)
        y = Transpose<perm = [0, 3, 1, 2]>(r) })",
                R"(g (f32[N,2,3,4] a, f32[N,2,3,4] b) => (f32[N,2,3,4] y = r_2) {
        p_0 = Sigmoid(a) q_1 = Mul(a, p_0) r_2 = Add(q_1, b) })");
}

TEST(CancelTransposesTest, MovesAConstantPerChannel) {
  ExpectRewrite(CancelTransposes(), R"(
      g (float[1,2,3,4] x) => (float[1,2,3,4] y) <float[2] c = {1, 2}>
      { t = Transpose<perm = [0, 2, 3, 1]>(x)
        u = Add(t, c)
        y = Transpose<perm = [0, 3, 1, 2]>(u) })",
                R"(g (f32[1,2,3,4] x) => (f32[1,2,3,4] y = u_1) {
        u_1 = Add(x, {1, 2}) })");
}

TEST(CancelTransposesTest, ReshapesWhereOnlyExtentsOfOneMove) {
  ExpectRewrite(CancelTransposes(), R"(
      g (float[N,8,1,1] x) => (float[N,1,1,8] y)
      { y = Transpose<perm = [0, 2, 3, 1]>(x) })",
                R"(g (f32[N,8,1,1] x) => (f32[N,1,1,8] y = y_0) {
        y_0 = Reshape(x, {-1, 1, 1, 8}) })");
}

TEST(CancelTransposesTest, LeavesARegionWithOtherReaders) {
  ExpectStays("(float[2,3] x) => (float[3,2] u, float[2,3] y)", "[1, 0]", "Relu(t)",
              "what is between the Transposes has other users");
}

TEST(CancelTransposesTest, LeavesASumOfWhatIsNotTransposed) {
  ExpectStays("(float[2,3] x, float[3,2] z) => (float[2,3] y)", "[1, 0]", "Add(t, z)",
              "an operand is not transposed so");
}

TEST(CancelTransposesTest, LeavesAnotherOrder) {
  ExpectStays("(float[2,3,4] x) => (float[4,2,3] y)", "[1, 2, 0]", "Relu(t)",
              "an operand is not transposed so");
}

TEST(CancelTransposesTest, LeavesAMatrixOfConstants) {
  ExpectStays("(float[2,2] x) => (float[2,2] y) <float[2,2] c = {1, 2, 3, 4}>", "[1, 0]",
              "Add(t, c)", "an operand is not transposed so");
}

TEST(CancelTransposesTest, LeavesATransposeAlone) {
  ExpectNoRewrite(CancelTransposes(), R"(
      g (float[2,3] x, float[3,2] w) => (float[2,2] y)
      { t = MatMul(x, w)
        y = Transpose<perm = [1, 0]>(t) })",
                  "input 0 is not a Transpose");
}

}  // namespace
}  // namespace onnx_cudnn
