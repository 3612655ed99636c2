#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kNumbers =
    "<float root = {1.4142135}, float half_root = {0.70710677}, float tenth = {0.1}, "
    "float pi_root = {0.7978846}, float cubic = {0.044715}, float sixth = {0.16666667}, "
    "float[1] half = {0.5}, float zero = {0}, float one = {1}, float two = {2}, float three = {3}, "
    "float six = {6}, int64 cube = {3}>";

// A Graph in which `nodes` make t of x, f32[25], and its Neg is the output.
std::string Around(std::string_view nodes, std::string_view numbers = kNumbers) {
  return absl::StrCat("g (float[25] x) => (float[25] y) ", numbers, " { ", nodes, " y = Neg(t) }");
}

std::vector<HostTensor> Evaluated(const Graph& graph) {
  std::vector<float> numbers(25);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.5F * static_cast<float>(i) - 6;
  const std::vector<HostTensor> x = {HostTensor::Of<float>(DType::kF32, {25}, numbers)};
  absl::StatusOr<std::vector<HostTensor>> y = Evaluate(graph, x);
  EXPECT_TRUE(y.ok()) << y.status();
  return *std::move(y);
}

// Expects that `nodes` become one Node, and that results do not change.
void ExpectFused(std::string_view nodes, std::string_view fused) {
  SCOPED_TRACE(nodes);
  ExpectRewrite(FuseActivations(), Around(nodes),
                absl::StrCat("g (f32[25] x) => (f32[25] y) { t_0 = ", fused, " y = Neg(t_0) }"));
  Graph graph = GraphFromText(Around(nodes));
  const HostTensor before = Evaluated(graph)[0];
  PassContext context;
  ASSERT_TRUE(FuseActivations()->Run(graph, context).ok());
  const HostTensor after = Evaluated(graph)[0];
  for (size_t i = 0; i < 25; ++i) {
    EXPECT_NEAR(after.data<float>()[i], before.data<float>()[i], 2e-5) << "element " << i;
  }
}

void ExpectStays(std::string_view nodes, std::string_view reason) {
  SCOPED_TRACE(nodes);
  ExpectNoRewrite(FuseActivations(), Around(nodes), reason);
}

constexpr std::string_view kOtherNumber = "a number is not the activation's";
constexpr std::string_view kOtherUsers = "a value inside of the activation has other users";

constexpr std::string_view kErf =
    "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) t = Mul(d, half)";
constexpr std::string_view kTanh =
    "p = Pow(x, three) q = Mul(p, cubic) r = Add(x, q) s = Mul(r, pi_root) b = Tanh(s) "
    "c = Add(b, one) h = Mul(x, half) t = Mul(h, c)";
constexpr std::string_view kClip =
    "a = Add(x, three) b = Clip(a, zero, six) c = Mul(x, b) t = Div(c, six)";

TEST(FuseActivationsTest, ReadsGelu) {
  constexpr std::string_view kForms[] = {
      kErf,
      "a = Div(x, root) b = Erf(a) c = Add(one, b) d = Mul(c, x) t = Mul(half, d)",
      "h = Mul(x, half) a = Mul(x, half_root) b = Erf(a) c = Add(b, one) t = Mul(h, c)",
      "h = Mul(half, x) a = Mul(half_root, x) b = Erf(a) c = Add(b, one) t = Mul(c, h)",
      "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(c, half) t = Mul(x, d)",
      "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(half, c) t = Mul(d, x)",
      "a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) t = Div(d, two)"};
  for (const std::string_view nodes : kForms) ExpectFused(nodes, "Gelu(x)");
}

TEST(FuseActivationsTest, ReadsTheTanhForm) {
  for (const std::string_view power :
       {"p = Pow(x, three) q = Mul(p, cubic)", "p = Pow(x, cube) q = Mul(cubic, p)",
        "o = Mul(x, x) p = Mul(x, o) q = Mul(cubic, p)",
        "n = Mul(cubic, x) o = Mul(n, x) q = Mul(o, x)"}) {
    ExpectFused(absl::StrCat(power,
                             " r = Add(x, q) s = Mul(pi_root, r) b = Tanh(s) c = Add(one, b) "
                             "h = Mul(half, x) t = Mul(h, c)"),
                R"(Gelu<approximate = "tanh">(x))");
    ExpectFused(absl::StrCat(power,
                             " r = Add(q, x) s = Mul(r, pi_root) b = Tanh(s) c = Add(b, one) "
                             "d = Mul(x, c) t = Mul(d, half)"),
                R"(Gelu<approximate = "tanh">(x))");
  }
}

TEST(FuseActivationsTest, ReadsSwish) {
  ExpectFused("a = Sigmoid(x) t = Mul(x, a)", "Swish(x)");
  ExpectFused("a = Sigmoid(x) t = Mul(a, x)", "Swish(x)");
}

TEST(FuseActivationsTest, ReadsHardSwish) {
  constexpr std::string_view kForms[] = {
      kClip, "a = Add(three, x) b = Clip(a, zero, six) c = Mul(b, x) t = Mul(c, sixth)",
      "a = Add(x, three) b = Clip(a, zero, six) c = Div(b, six) t = Mul(x, c)",
      "a = HardSigmoid<alpha = 0.1666667, beta = 0.5>(x) t = Mul(x, a)",
      "a = HardSigmoid<alpha = 0.16666667>(x) t = Mul(a, x)"};
  for (const std::string_view nodes : kForms) ExpectFused(nodes, "HardSwish(x)");
}

TEST(FuseActivationsTest, ReadsNumbersThatF16Rounded) {  // √2, 1 and 1/2 by their bits
  ExpectRewrite(FuseActivations(), R"(
      g (float16[N,3] x) => (float16[N,3] y)
        <float16 root = {15784}, float16[1] one = {15360}, float16[1,1] half = {14336}>
      { a = Div(x, root)
        b = Erf(a)
        c = Add(b, one)
        d = Mul(x, c)
        t = Mul(d, half)
        y = Neg(t) })",
                "g (f16[N,3] x) => (f16[N,3] y) { t_0 = Gelu(x) y = Neg(t_0) }");
}

TEST(FuseActivationsTest, ReadsNumbersThatBf16Rounded) {  // √(2/π) is 0.796875, 0.13 % off
  ExpectRewrite(FuseActivations(), R"(
      g (bfloat16[3] x) => (bfloat16[3] y)
        <bfloat16 pi_root = {16204}, bfloat16 cubic = {15671}, bfloat16 one = {16256}, bfloat16 half = {16128}, bfloat16 three = {16448}>
      { p = Pow(x, three)
        q = Mul(p, cubic)
        r = Add(x, q)
        s = Mul(r, pi_root)
        b = Tanh(s)
        c = Add(b, one)
        h = Mul(x, half)
        t = Mul(h, c)
        y = Neg(t) })",
                R"(g (bf16[3] x) => (bf16[3] y)
                   { t_0 = Gelu<approximate = "tanh">(x) y = Neg(t_0) })");
}

TEST(FuseActivationsTest, ReadsRoundNumbers) {
  ExpectRewrite(FuseActivations(),
                Around("a = Mul(x, r) b = Erf(a) c = Add(b, one) d = Mul(x, c) t = Mul(d, half)",
                       "<float r = {0.707}, float one = {1}, float half = {0.5}>"),
                "g (f32[25] x) => (f32[25] y) { t_0 = Gelu(x) y = Neg(t_0) }");
}

TEST(FuseActivationsTest, LeavesOtherNumbers) {
  const auto expect_stays = [](std::string_view nodes, std::string_view from, std::string_view to) {
    ExpectStays(absl::StrReplaceAll(nodes, {{from, to}}), kOtherNumber);
  };
  for (const char* number : {"root", "one", "half"}) expect_stays(kErf, number, "tenth");
  for (const char* number : {"three", "cubic", "pi_root", "one", "half"}) {
    expect_stays(kTanh, number, "tenth");
  }
  for (const char* number : {"three", "zero"}) expect_stays(kClip, number, "tenth");
  expect_stays(kClip, "zero, six", "zero, two");
  expect_stays(kClip, "Div(c, six", "Div(c, two");
  ExpectStays("a = HardSigmoid(x) t = Mul(x, a)", kOtherNumber);  // alpha is 0.2
  ExpectStays("a = HardSigmoid<alpha = 0.16666667, beta = 0.4>(x) t = Mul(x, a)", kOtherNumber);
}

TEST(FuseActivationsTest, LeavesNumbersNextToExactOnes) {
  ExpectNoRewrite(
      FuseActivations(),
      Around(kErf, "<float root = {1.4142135}, float one = {1}, float half = {0.5001}>"),
      kOtherNumber);
}

TEST(FuseActivationsTest, LeavesValuesWithOtherUsers) {
  const auto read_too = [](std::string_view nodes, const char* inner) {
    ExpectStays(
        absl::StrCat(absl::StrReplaceAll(nodes, {{"t = ", "u = "}}), " t = Add(u, ", inner, ")"),
        kOtherUsers);
  };
  for (const char* inner : {"a", "b", "c", "d"}) read_too(kErf, inner);
  for (const char* inner : {"p", "q", "r", "s", "b", "c", "h"}) read_too(kTanh, inner);
  for (const char* inner : {"a", "b", "c"}) read_too(kClip, inner);
  read_too("a = Sigmoid(x) t = Mul(x, a)", "a");
}

TEST(FuseActivationsTest, LeavesAValueThatIsAnOutput) {
  ExpectNoRewrite(FuseActivations(), R"(
      g (float[2] x) => (float[2] y, float[2] a) { a = Sigmoid(x) y = Mul(x, a) })",
                  kOtherUsers);
}

TEST(FuseActivationsTest, LeavesOtherTypes) {
  ExpectNoRewrite(FuseActivations(),
                  "g (double[2] x) => (double[2] y) { a = Sigmoid(x) y = Mul(x, a) }",
                  "its type is not f32, f16 or bf16");
}

TEST(FuseActivationsTest, LeavesGatesOfOtherValues) {
  for (const std::string_view nodes : {kErf, kTanh, kClip}) {
    const std::string gate = absl::StrReplaceAll(nodes, {{"Mul(x, ", "Mul(z, "}});
    ExpectStays(absl::StrCat("z = Abs(x) ", gate), "");
  }
  ExpectStays("z = Abs(x) a = Sigmoid(z) t = Mul(x, a)", "");
  ExpectStays("z = Mul(x, two) a = Sigmoid(z) t = Mul(x, a)", "");
}

TEST(FuseActivationsTest, LeavesAGateThatIsNotHalved) {
  ExpectStays("a = Div(x, root) b = Erf(a) c = Add(b, one) t = Mul(x, c)", "");
}

TEST(FuseActivationsTest, LeavesNumbersThatWiden) {
  ExpectNoRewrite(FuseActivations(), R"(
      g (float[3] x) => (float[1,3] y) <float root = {1.4142135}, float one = {1}, float[1,1] half = {0.5}>
      { a = Div(x, root)
        b = Erf(a)
        c = Add(b, one)
        d = Mul(x, c)
        y = Mul(d, half) })",
                  "");
}

TEST(FuseActivationsTest, ComesBeforeWeightsTakeTheHalf) {
  Graph graph = GraphFromText(R"(
      g (float[1,1,2,2] x) => (float[1,1,2,2] y)
        <float[1,1,1,1] w = {3}, float[1,1,1,1] v = {5}, float root = {1.4142135}, float one = {1}, float half = {0.5}>
      { u = Conv(x, w)
        a = Div(u, root)
        b = Erf(a)
        c = Add(b, one)
        d = Mul(u, c)
        t = Mul(d, half)
        y = Conv(t, v) })");
  PassContext context;
  ASSERT_TRUE(RunPasses(graph, MakePipeline(2), {}, context).ok());
  EXPECT_EQ(PrintOnOneLine(graph),
            "g (f32[1,1,2,2] x) => (f32[1,1,2,2] y) "
            "{ u = Conv(x, {3}) t_0 = Gelu(u) y = Conv(t_0, {5}) }");
}

TEST(FuseActivationsTest, NeedsAnOpsetThatHasTheOp) {  // a file is written in it
  ExpectNeedsOpset(FuseActivations(), Around("s = Sigmoid(x) t = Mul(x, s)"), 24);
}

}  // namespace
}  // namespace onnx_cudnn
