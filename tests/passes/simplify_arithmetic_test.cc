#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// A Graph in which `nodes` make t of x, f32[2,3], and its Exp is the output.
std::string Around(std::string_view nodes, std::string_view constants = "") {
  return absl::StrCat("g (float[2,3] x) => (float[2,3] y) ", constants, " { ", nodes,
                      " y = Exp(t) }");
}
constexpr std::string_view kGone = "g (f32[2,3] x) => (f32[2,3] y) { y = Exp(x) }";

void ExpectGone(std::string_view nodes, std::string_view constants = "") {
  ExpectRewrite(SimplifyArithmetic(), Around(nodes, constants), kGone);
}
void ExpectStays(std::string_view nodes, std::string_view constants, std::string_view reason) {
  ExpectNoRewrite(SimplifyArithmetic(), Around(nodes, constants), reason);
}
void ExpectBecomes(std::string_view nodes, std::string_view constants, std::string_view node) {
  ExpectRewrite(SimplifyArithmetic(), Around(nodes, constants),
                absl::StrCat("g (f32[2,3] x) => (f32[2,3] y) { ", node, " y = Exp(t_0) }"));
}

TEST(SimplifyArithmeticTest, DropsNeutralOperands) {
  ExpectGone("t = Add(x, c)", "<float c = {0}>");
  ExpectGone("t = Add(c, x)", "<float[3] c = {0, 0, 0}>");
  ExpectGone("t = Sub(x, c)", "<float c = {0}>");
  ExpectGone("t = Mul(x, c)", "<float[2,1] c = {1, 1}>");
  ExpectGone("t = Div(x, c)", "<float[1,1] c = {1}>");
  ExpectGone("t = Pow(x, c)", "<int64 c = {1}>");
}

TEST(SimplifyArithmeticTest, DropsNeutralOperandsOfSymbolicShapes) {
  ExpectRewrite(SimplifyArithmetic(), R"(
      g (float[N,3] x) => (float[N,3] y) <float[3] c = {1, 1, 1}>
      { t = Mul(x, c)
        y = Exp(t) })",
                "g (f32[N,3] x) => (f32[N,3] y) { y = Exp(x) }");
}

TEST(SimplifyArithmeticTest, DropsNeutralOperandsOfIntegersAndBools) {
  ExpectRewrite(SimplifyArithmetic(), R"(
      g (int8[2] x, bool[2] p) => (int8[2] y, bool[2] q) <int8 c = {-128}, bool d = {1}>
      { s = Max(x, c)
        y = Neg(s)
        r = And(d, p)
        q = Not(r) })",
                "g (i8[2] x, bool[2] p) => (i8[2] y, bool[2] q) { y = Neg(x) q = Not(p) }");
}

TEST(SimplifyArithmeticTest, LeavesAConstantThatWidens) {
  ExpectNoRewrite(SimplifyArithmetic(), R"(
      g (float[N,1] x) => (float[1,N,3] y) <float[1,1,3] c = {1, 1, 1}> { y = Mul(x, c) })",
                  "the neutral operand may widen the shape");
}

TEST(SimplifyArithmeticTest, LeavesATimesZero) {  // NaN and infinity
  ExpectStays("t = Mul(x, c)", "<float c = {0}>", "the constant is not neutral");
}

TEST(SimplifyArithmeticTest, LeavesASumThatSomethingIsDividedBy) {  // 1 / (−0 + 0) is +infinity
  ExpectStays("a = Add(x, c) b = Relu(a) t = Reciprocal(b)", "<float c = {0}>",
              "the sign of a zero may matter");
  ExpectStays("a = Add(x, c) t = Div(x, a)", "<float c = {0}>", "the sign of a zero may matter");
}

TEST(SimplifyArithmeticTest, DropsASumThatIsDivided) {
  ExpectRewrite(SimplifyArithmetic(),
                Around("a = Add(x, c) t = Div(a, d)", "<float c = {0}, float d = {3}>"),
                "g (f32[2,3] x) => (f32[2,3] y) { t = Div(x, {3}) y = Exp(t) }");
}

TEST(SimplifyArithmeticTest, LeavesTheWrongSide) {
  ExpectStays("t = Sub(c, x)", "<float c = {0}>", "");
  ExpectStays("t = Div(c, x)", "<float c = {1}>", "");
  ExpectStays("t = Pow(c, x)", "<float c = {1}>", "");
}

TEST(SimplifyArithmeticTest, LeavesAConstantWithOneOtherElement) {
  ExpectStays("t = Mul(x, c)", "<float[3] c = {1, 1, 2}>", "the constant is not neutral");
}

TEST(SimplifyArithmeticTest, LeavesTheGreatestFiniteBound) {  // of infinity it makes 3.4e38
  ExpectStays("t = Min(x, c)", "<float c = {3.4028234663852886e38}>",
              "the constant is not neutral");
}

TEST(SimplifyArithmeticTest, DropsPairs) {
  ExpectGone("a = Neg(x) t = Neg(a)");
  ExpectGone("a = Neg(x) b = Neg(a) c = Neg(b) t = Neg(c)");
}

TEST(SimplifyArithmeticTest, DropsRepeats) {
  ExpectRewrite(SimplifyArithmetic(), Around("a = Abs(x) t = Abs(a)"),
                "g (f32[2,3] x) => (f32[2,3] y) { a = Abs(x) y = Exp(a) }");
}

TEST(SimplifyArithmeticTest, MergesCastsThroughAWiderType) {
  ExpectRewrite(SimplifyArithmetic(),
                "g (float16[2] x) => (int32[2] y) { t = Cast<to = 1>(x) y = Cast<to = 6>(t) }",
                "g (f16[2] x) => (i32[2] y) { y = Cast<to = 6>(x) }");
}

TEST(SimplifyArithmeticTest, DropsCastsThatComeBack) {
  ExpectGone("a = Cast<to = 11>(x) t = Cast<to = 1>(a)");
}

TEST(SimplifyArithmeticTest, LeavesCastsThatRound) {
  ExpectStays("a = Cast<to = 10>(x) t = Cast<to = 1>(a)", "", "the type between loses numbers");
  ExpectStays("a = Cast<to = 7>(x) t = Cast<to = 1>(a)", "", "the type between loses numbers");
}

TEST(SimplifyArithmeticTest, LeavesCastsOfIntegersThatFloatsRound) {
  ExpectNoRewrite(SimplifyArithmetic(),
                  "g (int32[2] x) => (int64[2] y) { t = Cast<to = 1>(x) y = Cast<to = 7>(t) }",
                  "the type between loses numbers");
}

TEST(SimplifyArithmeticTest, MergesClips) {
  ExpectBecomes("a = Clip(x, c, d) t = Clip(a, e, f)",
                "<float c = {-1}, float d = {6}, float e = {0}, float f = {9}>",
                "t_0 = Clip(x, {0}, {6})");
  ExpectBecomes("a = Relu(x) t = Clip(a, c, d)", "<float c = {0}, float d = {6}>",
                "t_0 = Clip(x, {0}, {6})");
  ExpectBecomes("a = Relu(x) t = Relu(a)", "", "t_0 = Relu(x)");
}

TEST(SimplifyArithmeticTest, MergesClipsThatDoNotMeet) {  // all is 7
  ExpectBecomes("a = Clip(x, c, d) t = Clip(a, e, f)",
                "<float c = {0}, float d = {1}, float e = {7}, float f = {9}>",
                "t_0 = Clip(x, {7}, {7})");
}

TEST(SimplifyArithmeticTest, DropsAClipWithoutBounds) { ExpectGone("t = Clip(x)"); }

TEST(SimplifyArithmeticTest, LeavesClipsWithOtherUsers) {
  ExpectNoRewrite(SimplifyArithmetic(), R"(
      g (float[2] x) => (float[2] y, float[2] z) <float c = {1}>
      { y = Relu(x)
        z = Clip(y, "", c) })",
                  "its input has other users");
}

TEST(SimplifyArithmeticTest, LeavesBoundsThatAreInputs) {
  ExpectNoRewrite(SimplifyArithmetic(), R"(
      g (float[2] x, float c) => (float[2] y)
      { t = Relu(x)
        y = Clip(t, c) })",
                  "a bound is not a constant number");
}

TEST(SimplifyArithmeticTest, ChoosesTheSideOfAConstantCondition) {
  ExpectGone("t = Where(c, x, k)", "<bool c = {1}, float[3] k = {1, 2, 3}>");
  ExpectGone("t = Where(c, k, x)", "<bool[1,3] c = {0, 0, 0}, float[3] k = {1, 2, 3}>");
}

TEST(SimplifyArithmeticTest, LeavesAMixedCondition) {
  ExpectStays("t = Where(c, x, k)", "<bool[3] c = {1, 0, 1}, float k = {1}>",
              "the condition is true here and false there");
}

TEST(SimplifyArithmeticTest, LeavesAChoiceThatWidens) {
  ExpectNoRewrite(SimplifyArithmetic(), R"(
      g (float[1] x, float[N] z) => (float[N] y) <bool c = {1}> { y = Where(c, x, z) })",
                  "what is not chosen may widen the shape");
}

}  // namespace
}  // namespace onnx_cudnn
