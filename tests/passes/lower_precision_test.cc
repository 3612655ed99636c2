#include <algorithm>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

TEST(LowerPrecisionTest, CastsAroundAProductAndWhatFollows) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y) <float[1,1,1] w = {3}>
      { t = Conv(x, w)
        y = Relu(t) })",
                "g (f32[1,1,3] x) => (f32[1,1,3] y = y_2) "
                "{ x_0 = Cast<to = 10>(x) t = Conv(x_0, {3}) y = Relu(t) "
                "y_2 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, CastsNothingBetweenLowNeighbours) {  // a residual
  ExpectRewrite(LowerPrecisionBf16(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y) <float[1,1,1] w = {3}>
      { t = Conv(x, w)
        r = Relu(t)
        u = Conv(r, w)
        y = Add(u, r) })",
                "g (f32[1,1,3] x) => (f32[1,1,3] y = y_2) "
                "{ x_0 = Cast<to = 16>(x) t = Conv(x_0, {3}) r = Relu(t) u = Conv(r, {3}) "
                "y = Add(u, r) y_2 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, CastsAValueOnceForAllWhoReadIt) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y, float[1,1,3] z, float[1,1,3] s) <float[1,1,1] w = {3}, float[1,1,1] v = {4}>
      { y = Conv(x, w)
        z = Conv(x, v)
        s = Softmax(y) })",
                "g (f32[1,1,3] x) => (f32[1,1,3] y = y_3, f32[1,1,3] z = z_4, f32[1,1,3] s) "
                "{ x_0 = Cast<to = 10>(x) y = Conv(x_0, {3}) z = Conv(x_0, {4}) "
                "y_3 = Cast<to = 1>(y) s = Softmax(y_3) z_4 = Cast<to = 1>(z) }");
}

TEST(LowerPrecisionTest, KeepsRangeSensitiveOps) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[2,2] x) => (float[2,1] y) <float[2,2] w = {1, 2, 3, 4}, int64[1] a = {1}>
      { t = MatMul(x, w)
        e = Exp(t)
        y = ReduceSum(e, a) })",
                "g (f32[2,2] x) => (f32[2,1] y) "
                "{ x_0 = Cast<to = 10>(x) t = MatMul(x_0, {1, 2, 3, 4}) "
                "t_2 = Cast<to = 1>(t) e = Exp(t_2) y = ReduceSum(e, {1}) }");
}

TEST(LowerPrecisionTest, KeepsADivisionByWhatIsNoConstant) {  // 1e-8 is 0 in f16
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y) <float[1,1,1] w = {3}, float[1,1,1] v = {4}>
      { t = Conv(x, w)
        u = Conv(x, v)
        y = Div(t, u) })",
                "g (f32[1,1,3] x) => (f32[1,1,3] y) "
                "{ x_0 = Cast<to = 10>(x) t = Conv(x_0, {3}) u = Conv(x_0, {4}) "
                "t_3 = Cast<to = 1>(t) u_4 = Cast<to = 1>(u) y = Div(t_3, u_4) }");
}

TEST(LowerPrecisionTest, KeepsAConstantBeyondTheRange) {  // 1e5 is infinite in f16
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y) <float[1,1,1] w = {3}, float c = {100000}>
      { t = Conv(x, w)
        y = Add(t, c) })",
                "g (f32[1,1,3] x) => (f32[1,1,3] y) "
                "{ x_0 = Cast<to = 10>(x) t = Conv(x_0, {3}) t_2 = Cast<to = 1>(t) "
                "y = Add(t_2, {1e+05}) }");
}

TEST(LowerPrecisionTest, KeepsAConstantThatWouldVanish) {  // 1e-9 is 0 in f16
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y) <float[1,1,1] w = {3}, float c = {0.000000001}>
      { t = Conv(x, w)
        y = Add(t, c) })",
                "g (f32[1,1,3] x) => (f32[1,1,3] y) "
                "{ x_0 = Cast<to = 10>(x) t = Conv(x_0, {3}) t_2 = Cast<to = 1>(t) "
                "y = Add(t_2, {1e-09}) }");
}

// Rounding the sum loses it too; an epsilon would be a single number.
TEST(LowerPrecisionTest, LowersAnAddendOfWhichAnElementVanishes) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,2,3] x) => (float[1,2,3] y)
        <float[2,2,1] w = {1, 2, 3, 4}, float[2,1] b = {0.5, 0.000000001}>
      { t = Conv(x, w)
        y = Add(t, b) })",
                "g (f32[1,2,3] x) => (f32[1,2,3] y = y_3) "
                "{ x_0 = Cast<to = 10>(x) t = Conv(x_0, {1, 2, 3, 4}) y = Add(t, {0.5, 0}) "
                "y_3 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, KeepsFactorsOfWhichOneWouldVanish) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,2,3] x) => (float[1,2,3] y)
        <float[2,2,1] w = {1, 2, 3, 4}, float[2,1] c = {0.5, 0.000000001}>
      { t = Conv(x, w)
        y = Mul(t, c) })",
                "g (f32[1,2,3] x) => (f32[1,2,3] y) "
                "{ x_0 = Cast<to = 10>(x) t = Conv(x_0, {1, 2, 3, 4}) t_2 = Cast<to = 1>(t) "
                "y = Mul(t_2, {0.5, 1e-09}) }");
}

TEST(LowerPrecisionTest, LowersASoftmaxBetweenProducts) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}>
      { t = MatMul(x, w)
        s = Softmax(t)
        y = MatMul(s, w) })",
                "g (f32[2,2] x) => (f32[2,2] y = y_2) "
                "{ x_0 = Cast<to = 10>(x) t = MatMul(x_0, {1, 2, 3, 4}) s = Softmax(t) "
                "y = MatMul(s, {1, 2, 3, 4}) y_2 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, LowersAnAttentionButNotItsMask) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,2,8] x, float[2,2] m) => (float[1,1,2,8] y)
      { y = Attention(x, x, x, m) })",
                "g (f32[1,1,2,8] x, f32[2,2] m) => (f32[1,1,2,8] y = y_1) "
                "{ x_0 = Cast<to = 10>(x) y = Attention(x_0, x_0, x_0, m) "
                "y_1 = Cast<to = 1>(y) }");
  ExpectNoRewrite(LowerPrecisionFp16(),
                  "g (float[1,1,2,8] x, float[1,1,3,8] p) => (y) "
                  "{ y, k, v = Attention(x, x, x, , p, p) }",
                  "");
}

TEST(LowerPrecisionTest, KeepsMaskedLogits) {
  const auto expect = [](const std::string& mask, const std::string& added,
                         const std::string& types = "") {
    ExpectRewrite(LowerPrecisionFp16(),
                  "g (float[2,2] x" + types +
                      ") => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] c = " + mask +
                      "> { t = MatMul(x, w) " + added + " s = Softmax(r) y = MatMul(s, w) }",
                  "g (f32[2,2] x" + std::string(types.empty() ? "" : ", f32[2,2] m") +
                      ") => (f32[2,2] y = y_4) { x_0 = Cast<to = 10>(x) "
                      "t = MatMul(x_0, {1, 2, 3, 4}) t_3 = Cast<to = 1>(t) " +
                      absl::StrReplaceAll(
                          added, {{"(t, c)", "(t_3, " + mask + ")"}, {"(t, m)", "(t_3, m)"}}) +
                      " s = Softmax(r) s_2 = Cast<to = 10>(s) y = MatMul(s_2, {1, 2, 3, 4}) "
                      "y_4 = Cast<to = 1>(y) }");
  };
  expect("{0, -10000}", "r = Add(t, c)");
  expect("{0, 10000}", "r = Sub(t, c)");
  expect("{0, -10000}", "a = Add(t, c) r = Abs(a)");
  expect("{0, 1}", "r = Add(t, m)", ", float[2,2] m");  // of any size
}

TEST(LowerPrecisionTest, LowersABiasOfLogits) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] c = {-16, 16}>
      { t = MatMul(x, w)
        r = Add(t, c)
        s = Softmax(r)
        y = MatMul(s, w) })",
                "g (f32[2,2] x) => (f32[2,2] y = y_3) "
                "{ x_0 = Cast<to = 10>(x) t = MatMul(x_0, {1, 2, 3, 4}) r = Add(t, {-16, 16}) "
                "s = Softmax(r) y = MatMul(s, {1, 2, 3, 4}) y_3 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, KeepsASoftmaxThatIsAnOutput) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[2,2] x) => (float[2,2] s, float[2,2] y) <float[2,2] w = {1, 2, 3, 4}>
      { t = MatMul(x, w)
        s = Softmax(t)
        y = MatMul(s, w) })",
                "g (f32[2,2] x) => (f32[2,2] s, f32[2,2] y = y_4) "
                "{ x_0 = Cast<to = 10>(x) t = MatMul(x_0, {1, 2, 3, 4}) t_3 = Cast<to = 1>(t) "
                "s = Softmax(t_3) s_2 = Cast<to = 10>(s) y = MatMul(s_2, {1, 2, 3, 4}) "
                "y_4 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, LowersAResizeButItsScales) {  // 1.7 is 1.7001953 in f16
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,3] x) => (float[1,1,5] y)
        <float[1,1,1] w = {3}, float[3] s = {1, 1, 1.7}, float c = {0.5}>
      { t = Conv(x, w)
        r = Resize(t, , s)
        m = Mul(r, c)
        y = Conv(m, w) })",
                "g (f32[1,1,3] x) => (f32[1,1,5] y = y_3) "
                "{ x_0 = Cast<to = 10>(x) t = Conv(x_0, {3}) r = Resize(t, \"\", {1, 1, 1.7}) "
                "m = Mul(r, {0.5}) y = Conv(m, {3}) y_3 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, WidensScalesThatALoweredNodeWrites) {
  Graph graph = GraphFromText(R"(
      g (float[1,1,3] x) => (y) <float[1,1,1] w = {3}, int64[1] n = {3}>
      { t = Conv(x, w)
        s = Reshape(t, n)
        r = Resize(t, , s)
        y = Conv(r, w) })");
  PassContext context;
  ASSERT_TRUE(*LowerPrecisionFp16()->Run(graph, context));
  const std::vector<Node*> order = graph.TopologicalOrder();
  const auto resize = std::find_if(order.begin(), order.end(),
                                   [](const Node* node) { return node->op() == "Resize"; });
  EXPECT_EQ((*resize)->input(0).dtype(), DType::kF16);
  EXPECT_EQ((*resize)->input(2).dtype(), DType::kF32);
}

TEST(LowerPrecisionTest, KeepsAMeanWithAReaderThatStaysF32) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[2,2] x) => (float[2,1] y, float[2,2] z)
        <float[2,2] w = {1, 2, 3, 4}, float[1,2] v = {5, 6}, int64[1] a = {1}>
      { t = MatMul(x, w)
        m = ReduceMean(t, a)
        y = Sqrt(m)
        z = MatMul(m, v) })",
                "g (f32[2,2] x) => (f32[2,1] y, f32[2,2] z = z_5) "
                "{ x_0 = Cast<to = 10>(x) t = MatMul(x_0, {1, 2, 3, 4}) t_4 = Cast<to = 1>(t) "
                "m = ReduceMean(t_4, {1}) y = Sqrt(m) m_2 = Cast<to = 10>(m) "
                "z = MatMul(m_2, {5, 6}) z_5 = Cast<to = 1>(z) }");
}

TEST(LowerPrecisionTest, KeepsAMeanBeforeASoftmaxThatStaysF32) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[2,2] x) => (float[2,1] y) <float[2,2] w = {1, 2, 3, 4}, int64[1] a = {1}>
      { t = MatMul(x, w)
        m = ReduceMean(t, a)
        y = Softmax(m) })",
                "g (f32[2,2] x) => (f32[2,1] y) "
                "{ x_0 = Cast<to = 10>(x) t = MatMul(x_0, {1, 2, 3, 4}) t_2 = Cast<to = 1>(t) "
                "m = ReduceMean(t_2, {1}) y = Softmax(m) }");
}

TEST(LowerPrecisionTest, LowersANormAndItsFactors) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[2,2] x) => (float[2,2] y)
        <float[2,2] w = {1, 2, 3, 4}, float[2] s = {1, 0.5}, float[2] b = {0.25, 0.000000001}>
      { t = MatMul(x, w)
        n = LayerNormalization(t, s, b)
        y = MatMul(n, w) })",
                "g (f32[2,2] x) => (f32[2,2] y = y_4) "
                "{ x_0 = Cast<to = 10>(x) t = MatMul(x_0, {1, 2, 3, 4}) "
                "n = LayerNormalization(t, {1, 0.5}, {0.25, 0}) y = MatMul(n, {1, 2, 3, 4}) "
                "y_4 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, KeepsANormWithUsedStatistics) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[2,2] x) => (float[2,2] y, float[2,1] m)
        <float[2,2] w = {1, 2, 3, 4}, float[2] s = {1, 0.5}>
      { t = MatMul(x, w)
        n, m = LayerNormalization(t, s)
        y = MatMul(n, w) })",
                "g (f32[2,2] x) => (f32[2,2] y = y_4, f32[2,1] m) "
                "{ x_0 = Cast<to = 10>(x) t = MatMul(x_0, {1, 2, 3, 4}) t_3 = Cast<to = 1>(t) "
                "n, m = LayerNormalization(t_3, {1, 0.5}) n_2 = Cast<to = 10>(n) "
                "y = MatMul(n_2, {1, 2, 3, 4}) y_4 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, LetsShapeReadALowValue) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y, int64[3] d, int64 n) <float[1,1,1] w = {3}>
      { y = Conv(x, w)
        d = Shape(y)
        n = Size(y) })",
                "g (f32[1,1,3] x) => (f32[1,1,3] y = y_2, i64[3] d, i64[] n) "
                "{ x_0 = Cast<to = 10>(x) y = Conv(x_0, {3}) d = Shape(y) n = Size(y) "
                "y_2 = Cast<to = 1>(y) }");
}

TEST(LowerPrecisionTest, LeavesAWeightBeyondTheRange) {
  ExpectNoRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y) <float[1,1,1] w = {100000}>
      { y = Conv(x, w) })",
                  "");
}

TEST(LowerPrecisionTest, LeavesElementWiseOpsAlone) {
  ExpectNoRewrite(LowerPrecisionFp16(), "g (float[3] x) => (float[3] y) { t = Relu(x) y = Neg(t) }",
                  "");
}

TEST(LowerPrecisionTest, LeavesOtherTypes) {
  ExpectNoRewrite(LowerPrecisionFp16(),
                  "g (double[2,2] x, int32[2,2] a) => (double[2,2] y, int32[2,2] b) "
                  "{ y = MatMul(x, x) b = MatMul(a, a) }",
                  "");
}

TEST(LowerPrecisionTest, LeavesBodies) {
  ExpectNoRewrite(LowerPrecisionFp16(), R"(
      g (bool c, float[2,2] x) => (float[2,2] y) {
        y = If(c) <then_branch = a () => (float[2,2] t) { t = MatMul(x, x) },
                   else_branch = b () => (float[2,2] t) { t = Neg(x) }> })",
                  "");
}

// Averages are accumulated in f32 and lie within the range of their inputs.
TEST(LowerPrecisionTest, LowersGlobalPools) {
  ExpectRewrite(LowerPrecisionFp16(), R"(
      g (float[1,1,3,3] x) => (float[1,1,1,1] y) <float[1,1,1,1] w = {3}>
      { t = Conv(x, w)
        p = GlobalAveragePool(t)
        y = GlobalMaxPool(p) })",
                "g (f32[1,1,3,3] x) => (f32[1,1,1,1] y = y_2) "
                "{ x_0 = Cast<to = 10>(x) t = Conv(x_0, {3}) p = GlobalAveragePool(t) "
                "y = GlobalMaxPool(p) y_2 = Cast<to = 1>(y) }");
}

// A convolution, its shortcut, a pool and a classifier.
constexpr std::string_view kNet = R"(
      g (float[1,2,4,4] x) => (float[1,3] y)
        <float[2,2,1,1] w = {0.5, -0.25, 0.125, 1}, float[2] b = {0.1, -0.2}, float[2,3] f = {0.3, 0.1, -0.4, 0.7, 0.2, 0.5}>
      { t = Conv(x, w, b)
        r = Relu(t)
        s = Add(r, x)
        p = GlobalAveragePool(s)
        l = Flatten(p)
        m = MatMul(l, f)
        y = Softmax(m) })";

// Attention in which the second query may see no key: its weights are those of its unmasked logits.
constexpr std::string_view kMaskedNet = R"(
      g (float[2,2] q, float[2,2] k, float[2,3] v, float[2,2] seen) => (float[2,3] y)
        <float one = {1}, float large = {-10000}>
      { s = MatMul(q, k)
        h = Sub(one, seen)
        m = Mul(h, large)
        a = Add(s, m)
        p = Softmax(a)
        y = MatMul(p, v) })";

void ExpectWithin(std::string_view net, DType products, float tolerance) {
  const Graph graph = GraphFromText(std::string(net));
  Graph lowered = graph.Clone();
  PassContext context;
  const auto passes = MakePipeline(2, products);
  ASSERT_TRUE(RunPasses(lowered, passes, {}, context).ok());
  std::vector<HostTensor> inputs = MakeInputs(graph);
  if (net == kMaskedNet) inputs[3] = HostTensor::Of<float>(DType::kF32, {2, 2}, {1, 1, 0, 0});
  const auto expected = Evaluate(graph, inputs);
  const auto found = Evaluate(lowered, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ((*found)[0].dtype(), DType::kF32);
  bool any_differs = false;
  for (int64_t i = 0; i < (*expected)[0].elements(); ++i) {
    const float want = (*expected)[0].data<float>()[i], got = (*found)[0].data<float>()[i];
    EXPECT_NEAR(got, want, tolerance);
    any_differs |= got != want;
  }
  EXPECT_TRUE(any_differs);
}

TEST(LowerPrecisionTest, StaysWithinTheToleranceOfF16) {
  ExpectWithin(kNet, DType::kF16, 2e-3f);
  ExpectWithin(kMaskedNet, DType::kF16, 2e-3f);
}
TEST(LowerPrecisionTest, StaysWithinTheToleranceOfBf16) {
  ExpectWithin(kNet, DType::kBF16, 2e-2f);
  ExpectWithin(kMaskedNet, DType::kBF16, 2e-2f);
}

TEST(LowerPrecisionTest, IsNearLinear) {
  Graph graph;
  Value& w = graph.AddConstant(HostTensor::Of<float>(DType::kF32, {1, 1}, {1.0f}));
  Value* v = &graph.AddInput("x", Type::Tensor(DType::kF32, {1, 1}));
  for (int i = 0; i < 50000; ++i) {
    Node& node = graph.AddNode({.op = "MatMul", .inputs = {v, &w}});
    graph.SetType(node.output(0), v->type());
    v = &node.output(0);
  }
  graph.AddOutput("y", *v);
  ExpectChangesFast(LowerPrecisionFp16(), graph);
  EXPECT_EQ(graph.node_count(), 50002);
}

TEST(LowerPrecisionTest, RunsAsAProgram) {
  Graph graph = GraphFromText(kNet);
  PassContext context;
  ASSERT_TRUE(RunPasses(graph, MakePipeline(2, DType::kF16), {}, context).ok());
  ExpectRunsLikeEvaluate(graph);
}

}  // namespace
}  // namespace onnx_cudnn
