#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// A Graph of these Nodes on x, f32[2,3,4].
std::string Of(std::string_view nodes, std::string_view outputs = "y") {
  return absl::StrCat("g (float[2,3,4] x) => (", outputs,
                      ") <int64[1] a = {-1}, float two = {2}, float e = {0.25}, "
                      "float[4] gamma = {1, 2, 3, 4}, float[4] beta = {5, 6, 7, 8}> { ",
                      nodes, " }");
}

// r, the standard deviation, and d.
constexpr std::string_view kRoot =
    "m = ReduceMean(x, a) d = Sub(x, m) s = Pow(d, two) v = ReduceMean(s, a) "
    "t = Add(v, e) r = Sqrt(t) ";

std::string Behind(std::string_view nodes, std::string_view outputs = "y") {
  return Of(absl::StrCat(kRoot, nodes), outputs);
}

// `y`: the name of the graph's output.
void ExpectFused(std::string_view text, std::string_view y, std::string_view operands) {
  ExpectRewrite(
      FuseLayerNorm(), text,
      absl::StrCat("g (f32[2,3,4] x) => (f32[2,3,4] y = ", y, ") { ", y,
                   " = LayerNormalization<axis = 2, epsilon = 0.25>(x, ", operands, ") }"));
}

void ExpectStays(std::string_view text, std::string_view reason) {
  ExpectNoRewrite(FuseLayerNorm(), text, reason);
}

constexpr std::string_view kBoth = "{1, 2, 3, 4}, {5, 6, 7, 8}";
constexpr std::string_view kInverse =
    "m = ReduceMean(x, a) d = Sub(x, m) s = Mul(d, d) v = ReduceMean(s, a) t = Add(e, v) "
    "r = Sqrt(t) q = Reciprocal(r) n = Mul(q, d) p = Mul(gamma, n) y = Add(beta, p)";

TEST(FuseLayerNormTest, TakesAQuotient) {
  ExpectFused(Behind("n = Div(d, r) p = Mul(n, gamma) y = Add(p, beta)"), "n_0", kBoth);
}

TEST(FuseLayerNormTest, TakesAProductWithTheReciprocal) {
  ExpectFused(Of(kInverse), "n_0", kBoth);
  ExpectFused(Behind("q = Reciprocal(r) n = Mul(d, q) p = Mul(n, gamma) y = Add(p, beta)"), "n_0",
              kBoth);
}

TEST(FuseLayerNormTest, NeedsNeitherScaleNorBias) {
  ExpectFused(Behind("y = Div(d, r)"), "y_0", "{1, 1, 1, 1}");
  ExpectFused(Behind("n = Div(d, r) y = Mul(n, gamma)"), "n_0", "{1, 2, 3, 4}");
  ExpectFused(Behind("n = Div(d, r) y = Add(n, beta)"), "n_0", "{1, 1, 1, 1}, {5, 6, 7, 8}");
}

TEST(FuseLayerNormTest, TakesAnIntegerExponentAndFactorsOfMoreAxes) {
  ExpectRewrite(FuseLayerNorm(),
                absl::StrCat("g (float[N,3,2] x) => (y) <int64[1] a = {2}, int64 two = {2}, "
                             "float[1] e = {0.25}, float[1,1,2] gamma = {3, 4}> { ",
                             kRoot, "n = Div(d, r) y = Mul(n, gamma) }"),
                "g (f32[N,3,2] x) => (f32[N,3,2] y = n_0) "
                "{ n_0 = LayerNormalization<axis = 2, epsilon = 0.25>(x, {3, 4}) }");
}

TEST(FuseLayerNormTest, TakesSeveralLastAxes) {
  ExpectRewrite(FuseLayerNorm(), R"(
      g (float[5,2,2] x) => (y)
        <int64[2] a = {-1, 1}, int64[2] b = {1, 2}, float e = {0.25}, float[2,2] gamma = {1, 2, 3, 4}>
      { m = ReduceMean(x, a)
        d = Sub(x, m)
        s = Mul(d, d)
        v = ReduceMean(s, b)
        t = Add(v, e)
        r = Sqrt(t)
        n = Div(d, r)
        y = Mul(n, gamma) })",
                "g (f32[5,2,2] x) => (f32[5,2,2] y = n_0) "
                "{ n_0 = LayerNormalization<axis = 1, epsilon = 0.25>(x, {1, 2, 3, 4}) }");
}

TEST(FuseLayerNormTest, GivesANormThatStoodThereABias) {
  ExpectRewrite(FuseLayerNorm(), Of("n = LayerNormalization(x, gamma) y = Add(n, beta)"),
                "g (f32[2,3,4] x) => (f32[2,3,4] y = n) "
                "{ n = LayerNormalization(x, {1, 2, 3, 4}, {5, 6, 7, 8}) }");
}

TEST(FuseLayerNormTest, LeavesFactorsOfWhatHasThemAlready) {
  ExpectStays(Of("n = LayerNormalization(x, gamma) y = Mul(n, beta)"), "the norm has a scale");
  ExpectStays(Of("n = LayerNormalization(x, gamma, beta) y = Add(n, beta)"), "the norm has a bias");
}

TEST(FuseLayerNormTest, LeavesFactorsOfANormWithOtherUsers) {
  ExpectStays(Of("n = LayerNormalization(x, gamma) y = Add(n, beta)", "y, n"),
              "the norm has other users");
}

TEST(FuseLayerNormTest, LeavesFactorsThatAreNotOfARow) {
  ExpectStays(
      "g (float[2,3,4] x, float[4] c) => (y) <float[4] gamma = {1, 2, 3, 4}> "
      "{ n = LayerNormalization(x, gamma) y = Add(n, c) }",
      "");
  constexpr std::string_view kReason = "the constant is not one number for each element of a row";
  ExpectStays(Of("n = LayerNormalization(x, gamma) y = Add(n, e)"), kReason);
  const auto with = [](std::string_view constant) {
    return absl::StrCat("g (float[2,3,4] x, float[4] gamma) => (y) <", constant,
                        "> { n = LayerNormalization(x, gamma) y = Add(n, c) }");
  };
  ExpectStays(with("float[3,1] c = {1, 2, 3}"), kReason);
  ExpectStays(with("float[1,1,1,4] c = {1, 2, 3, 4}"), kReason);  // widens the rank
}

TEST(FuseLayerNormTest, LeavesValuesWithOtherReaders) {
  constexpr std::string_view kReason = "a value within has other users";
  for (const char* inner : {"m", "d", "s", "v", "t", "r"}) {
    SCOPED_TRACE(inner);
    ExpectStays(Behind("y = Div(d, r)", absl::StrCat("y, ", inner)), kReason);
  }
  ExpectStays(Behind("y = Div(d, r) z = Neg(d)", "y, z"), kReason);
  ExpectStays(Behind("q = Reciprocal(r) y = Mul(d, q) z = Neg(q)", "y, z"), kReason);
}

TEST(FuseLayerNormTest, LeavesOtherMeans) {
  const auto with = [](std::string_view mean, std::string_view variance) {
    return absl::StrCat(
        "g (float[4,4] x, int64[1] b) => (y) <int64[1] a = {-1}, int64[1] c = {0}, "
        "float e = {0.25}> { m = ",
        mean, " d = Sub(x, m) s = Mul(d, d) v = ", variance,
        " t = Add(v, e) r = Sqrt(t) y = Div(d, r) }");
  };
  constexpr std::string_view kReason = "its means are not both of the same last axes";
  ExpectStays(with("ReduceMean(x, c)", "ReduceMean(s, c)"), kReason);
  ExpectStays(with("ReduceMean(x, a)", "ReduceMean(s, c)"), kReason);
  ExpectStays(with("ReduceMean(x, a)", "ReduceMean(s, b)"), kReason);
  ExpectStays(with("ReduceMean<keepdims = 0>(x, a)", "ReduceMean(s, a)"), kReason);
  ExpectStays(with("ReduceMean(x)", "ReduceMean(s, a)"), kReason);
}

TEST(FuseLayerNormTest, LeavesAnotherEpsilon) {
  const auto with = [](std::string_view inputs, std::string_view constants) {
    return absl::StrCat("g (float[2,4] x", inputs, ") => (y) <int64[1] a = {-1}", constants,
                        "> { m = ReduceMean(x, a) d = Sub(x, m) s = Mul(d, d) "
                        "v = ReduceMean(s, a) t = Add(v, e) r = Sqrt(t) y = Div(d, r) }");
  };
  constexpr std::string_view kReason = "epsilon is not a constant number of 0 or more";
  ExpectStays(with(", float e", ""), kReason);
  ExpectStays(with("", ", float e = {-1}"), kReason);
  ExpectStays(with("", ", float[2,1] e = {1, 2}"), kReason);
  ExpectStays(with("", ", float[1,1,1] e = {1}"), kReason);  // widens the rank
}

TEST(FuseLayerNormTest, LeavesOtherTypesAndUnknownRows) {
  const auto of = [](std::string_view type, std::string_view dims) {
    return absl::StrCat("g (", type, dims, " x) => (y) <int64[1] a = {-1}, ", type,
                        " e = {1}> { m = ReduceMean(x, a) d = Sub(x, m) s = Mul(d, d) "
                        "v = ReduceMean(s, a) t = Add(v, e) r = Sqrt(t) y = Div(d, r) }");
  };
  ExpectStays(of("double", "[2,4]"), "its type is not f32, f16 or bf16");
  ExpectStays(of("float", "[2,N]"), "the extents of a row are not known");
}

TEST(FuseLayerNormTest, LeavesOtherArithmetic) {
  ExpectStays(Of("m = ReduceMean(x, a) d = Sub(x, m) s = Pow(d, gamma) v = ReduceMean(s, a) "
                 "t = Add(v, e) r = Sqrt(t) y = Div(d, r)"),
              "");
  ExpectStays(Of("m = ReduceMean(x, a) d = Sub(x, m) s = Mul(d, x) v = ReduceMean(s, a) "
                 "t = Add(v, e) r = Sqrt(t) y = Div(d, r)"),
              "");
  ExpectStays(Behind("y = Div(x, r)"), "");
  ExpectStays(Behind("y = Div(r, d)"), "");
  ExpectStays(Behind("y = Mul(d, r)"), "");
}

// The square root of the mean of squares of x.
constexpr std::string_view kRmsRoot =
    "s = Pow(x, two) v = ReduceMean(s, a) t = Add(v, e) r = Sqrt(t) ";

std::string BehindRms(std::string_view nodes, std::string_view outputs = "y") {
  return Of(absl::StrCat(kRmsRoot, nodes), outputs);
}

void ExpectRms(std::string_view text, std::string_view y, std::string_view scale) {
  ExpectRewrite(FuseLayerNorm(), text,
                absl::StrCat("g (f32[2,3,4] x) => (f32[2,3,4] y = ", y, ") { ", y,
                             " = RMSNormalization<axis = 2, epsilon = 0.25>(x, ", scale, ") }"));
}

TEST(FuseLayerNormTest, TakesANormAboutZero) {
  ExpectRms(BehindRms("y = Div(x, r)"), "y_0", "{1, 1, 1, 1}");
  ExpectRms(BehindRms("n = Div(x, r) y = Mul(gamma, n)"), "n_0", "{1, 2, 3, 4}");
  ExpectRms(BehindRms("q = Reciprocal(r) n = Mul(x, q) y = Mul(n, gamma)"), "n_0", "{1, 2, 3, 4}");
  ExpectRms(
      "g (float[2,3,4] x) => (y) <int64[1] a = {-1}, float e = {0.25}, float one = {1}, "
      "float[4] gamma = {1, 2, 3, 4}> { s = Mul(x, x) v = ReduceMean(s, a) t = Add(e, v) "
      "r = Sqrt(t) q = Div(one, r) n = Mul(q, x) y = Mul(n, gamma) }",
      "n_0", "{1, 2, 3, 4}");
}

TEST(FuseLayerNormTest, ANormAboutZeroMayReadADifference) {  // that is not from its own mean
  ExpectRewrite(FuseLayerNorm(),
                Of("m = ReduceMean(x, a) d = Sub(m, x) s = Mul(d, d) v = ReduceMean(s, a) "
                   "t = Add(v, e) r = Sqrt(t) y = Div(d, r)"),
                "g (f32[2,3,4] x) => (f32[2,3,4] y = y_0) { m = ReduceMean(x, {-1}) "
                "d = Sub(m, x) "
                "y_0 = RMSNormalization<axis = 2, epsilon = 0.25>(d, {1, 1, 1, 1}) }");
}

TEST(FuseLayerNormTest, ANormAboutZeroHasNoBias) {
  ExpectRewrite(FuseLayerNorm(), BehindRms("n = Div(x, r) y = Add(n, beta)"),
                "g (f32[2,3,4] x) => (f32[2,3,4] y) { "
                "n_0 = RMSNormalization<axis = 2, epsilon = 0.25>(x, {1, 1, 1, 1}) "
                "y = Add(n_0, {5, 6, 7, 8}) }");
}

TEST(FuseLayerNormTest, LeavesOtherNormsAboutZero) {
  ExpectStays(BehindRms("q = Div(two, r) y = Mul(x, q)"), "");
  ExpectStays(BehindRms("y = Mul(x, r)"), "");
  ExpectStays(BehindRms("y = Div(s, r)"), "");
  ExpectStays(BehindRms("y = Div(x, r)", "y, v"), "a value within has other users");
  ExpectStays(Of("s = Mul(x, x) v = ReduceMean<keepdims = 0>(s, a) t = Add(v, e) r = Sqrt(t) "
                 "u = Unsqueeze(r, a) y = Div(x, u)"),
              "");
  ExpectStays(
      "g (float[4,4] x) => (y) <int64[1] a = {0}, float e = {0.25}> { s = Mul(x, x) "
      "v = ReduceMean(s, a) t = Add(v, e) r = Sqrt(t) y = Div(x, r) }",
      "its mean is not of the last axes");
}

TEST(FuseLayerNormTest, ANormAboutZeroNeedsAnOpsetThatHasTheOp) {
  for (const int opset : {22, 23}) {
    Graph graph = GraphFromText(BehindRms("y = Div(x, r)"));
    PassContext context{.newest_opset = opset};
    EXPECT_EQ(*FuseLayerNorm()->Run(graph, context), opset == 23);
  }
}

TEST(FuseLayerNormTest, TheNumbersAreTheSame) {
  const std::string texts[] = {Behind("n = Div(d, r) p = Mul(n, gamma) y = Add(p, beta)"),
                               Of(kInverse),
                               Behind("n = Div(d, r) y = Mul(n, gamma)"),
                               Behind("n = Div(d, r) y = Add(beta, n)"),
                               Behind("y = Div(d, r)"),
                               BehindRms("n = Div(x, r) y = Mul(n, gamma)"),
                               BehindRms("q = Reciprocal(r) y = Mul(x, q)")};
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    ExpectSameNumbers(FuseLayerNorm(), text, 1e-5F);
  }
}

TEST(FuseLayerNormTest, LevelTwoFusesBeforeFactorsMove) {  // the difference is written twice
  Graph graph = GraphFromText(
      "g (float[3,2] x) => (y) <int64[1] a = {-1}, float two = {2}, float e = {0.25}, "
      "float[2] gamma = {2, 3}, float[2] beta = {4, 5}, float[2,1] w = {6, 7}> { "
      "m = ReduceMean(x, a) d = Sub(x, m) c = Sub(x, m) s = Pow(c, two) v = ReduceMean(s, a) "
      "t = Add(v, e) r = Sqrt(t) n = Div(d, r) p = Mul(n, gamma) q = Add(p, beta) "
      "y = MatMul(q, w) }");
  PassContext context;
  ASSERT_TRUE(RunPasses(graph, MakePipeline(2), {}, context).ok());
  const std::string printed = PrintOnOneLine(graph);
  EXPECT_NE(printed.find("LayerNormalization<axis = 1, epsilon = 0.25>(x, {2, 3}, {4, 5})"),
            std::string::npos)
      << printed;
  EXPECT_EQ(graph.node_count(), 2) << printed;
}

TEST(FuseLayerNormTest, NeedsAnOpsetThatHasTheOp) {  // a file is written in it
  ExpectNeedsOpset(FuseLayerNorm(), Behind("y = Div(d, r)"), 17);
}

}  // namespace
}  // namespace onnx_cudnn
