#include <cmath>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/exec/host_engine.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "runtime/import/expand_function.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

// The ops that remain after the functions of the ops below are expanded.
const std::vector<std::string> kPrimitives = absl::StrSplit(
    "Abs Add And Cast Ceil Concat Div Equal Erf Exp Expand Flatten Floor Gather "
    "GatherElements Greater Identity Less Log MatMul Max Min Mul Neg Not Or Pow Range "
    "Reciprocal ReduceMax ReduceMean ReduceSum ReduceSumSquare Reshape Round Sigmoid Sign "
    "Slice Split Sqrt Squeeze Sub Sum Tanh Transpose Unsqueeze Where",
    ' ');

struct Decomposed {
  Graph graph;
  bool changed = false;
  std::string remarks;
};

Decomposed DecomposeIn(std::string_view text, const Target& target) {
  Decomposed result{.graph = GraphFromText(text)};
  std::vector<Remark> remarks;
  PassContext context{.target = &target, .functions = &kOnnxFunctions, .remarks = &remarks};
  const absl::StatusOr<bool> changed = Decompose()->Run(result.graph, context);
  EXPECT_TRUE(changed.ok()) << changed.status();
  result.changed = changed.ok() && *changed;
  EXPECT_TRUE(Verify(result.graph).ok()) << Verify(result.graph);
  for (const Remark& r : remarks) result.remarks += r.where + ": " + r.reason + "\n";
  return result;
}

constexpr std::string_view kSoftsign = "g (float[3] x) => (float[3] y) { y = Softsign(x) }";

TEST(DecomposeTest, ExpandsWhatNoEngineProposes) {
  const TestEngine engine({.ops = {"Abs", "Add", "Div"}});
  const Decomposed result = DecomposeIn(kSoftsign, TargetOf({&engine}));
  EXPECT_TRUE(result.changed) << result.remarks;
  EXPECT_EQ(PrintOnOneLine(result.graph),
            "g (f32[3] x) => (f32[3] y = y_0) { Softsign.2.AbsInput = Abs(x) "
            "Softsign.3.OneAddAbsInput = Add({1}, Softsign.2.AbsInput) "
            "y_0 = Div(x, Softsign.3.OneAddAbsInput) }");
}

TEST(DecomposeTest, LeavesWhatAnEngineProposes) {
  const TestEngine engine({.ops = {"Abs", "Add", "Div", "Softsign"}});
  EXPECT_FALSE(DecomposeIn(kSoftsign, TargetOf({&engine})).changed);
}

TEST(DecomposeTest, CountsHostOnTheCpu) {
  const TestEngine engine({.ops = {"Abs", "Add", "Div"}});
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kDevice);
  EXPECT_FALSE(DecomposeIn(kSoftsign, TargetOf({&engine, host.get()})).changed);
}

Target GpuTargetOf(std::vector<const Engine*> engines) {
  Target target = TargetOf(std::move(engines));
  target.info.compute_capability = 90;
  return target;
}

TEST(DecomposeTest, DoesNotCountHostOnAGpu) {
  const TestEngine engine({.ops = {"Abs", "Add", "Div"}});
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kHost);
  EXPECT_TRUE(DecomposeIn(kSoftsign, GpuTargetOf({&engine, host.get()})).changed);
}

TEST(DecomposeTest, LeavesToHostWhatTheGpuWouldRunInPart) {
  const TestEngine engine({.ops = {"Abs", "Add"}});
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kHost);
  const Decomposed result = DecomposeIn(kSoftsign, GpuTargetOf({&engine, host.get()}));
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(result.remarks,
            "node (Softsign): its function holds node \"Softsign.Div\" (Div), which no better "
            "engine runs\n");
}

TEST(DecomposeTest, LeavesAnOpIfNoEngineRunsItsFunction) {
  const TestEngine engine({.ops = {"Abs", "Add"}});
  const Decomposed result = DecomposeIn(kSoftsign, TargetOf({&engine}));
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(result.remarks,
            "node (Softsign): its function holds node \"Softsign.Div\" (Div), which no engine "
            "runs\n");
}

TEST(DecomposeTest,
     ExpandsFunctionsWithinFunctions) {  // the loss calls LogSoftmax and another loss
  const TestEngine engine({.ops = kPrimitives});
  const Decomposed result =
      DecomposeIn("g (float[3,5] x, int64[3] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }",
                  TargetOf({&engine}));
  EXPECT_TRUE(result.changed) << result.remarks;
}

TEST(DecomposeTest, ExpandsWithinBodies) {
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kDevice);
  const Decomposed result = DecomposeIn(R"(
      g (bool c, float[3,5] x, int64[3] t) => (float y) {
        y = If(c) <then_branch = a () => (float l) { l = NegativeLogLikelihoodLoss(x, t) },
                   else_branch = b () => (float l) { l = ReduceSum<keepdims = 0>(x) }> })",
                                        TargetOf({host.get()}));
  EXPECT_TRUE(result.changed) << result.remarks;
}

TEST(DecomposeTest, BindsBeforeAndCleansAfter) {
  const TestEngine engine({.ops = {"Abs", "Add", "Div"}});
  const Target target = TargetOf({&engine});
  const absl::StatusOr<Graph> bound =
      BindShapes(GraphFromText("g (float[N] x) => (float[N] y) { y = Softsign(x) }"), {{"x", {3}}},
                 {.functions = &kOnnxFunctions}, &target);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(PrintOnOneLine(*bound),
            "g (f32[3] x) => (f32[3] y = y_0) { Softsign.2.AbsInput = Abs(x) "
            "Softsign.3.OneAddAbsInput = Add({1}, Softsign.2.AbsInput) "
            "y_0 = Div(x, Softsign.3.OneAddAbsInput) }");
}

// A Graph of one op that has both a reference and a function: both must give the same results.
class FunctionAgreesTest : public testing::TestWithParam<std::string_view> {};

TEST_P(FunctionAgreesTest, WithTheReference) {
  const TestEngine engine({.ops = kPrimitives});
  const Decomposed result = DecomposeIn(GetParam(), TargetOf({&engine}));
  ASSERT_TRUE(result.changed) << result.remarks;
  const Graph graph = GraphFromText(GetParam());
  const std::vector<HostTensor> inputs = MakeInputs(graph);
  const absl::StatusOr<std::vector<HostTensor>> expected = Evaluate(graph, inputs);
  const absl::StatusOr<std::vector<HostTensor>> actual = Evaluate(result.graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (size_t k = 0; k < expected->size(); ++k) {
    const absl::Span<const float> want = (*expected)[k].data<float>();
    const absl::Span<const float> got = (*actual)[k].data<float>();
    ASSERT_EQ(got.size(), want.size()) << Print(result.graph);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(got[i], want[i], 1e-4 * (1 + std::fabs(want[i]))) << i << Print(result.graph);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, FunctionAgreesTest,
    testing::Values(
        "g (float[7] x) => (float[7] y) { y = Celu<alpha = 0.5>(x) }",
        "g (float[7] x) => (float[7] y) <float low = {-1}> { y = Clip(x, low) }",
        "g (float[7] x) => (float[7] y) { y = Elu<alpha = 0.5>(x) }",
        "g (float[7] x) => (float[7] y) { y = Gelu(x) }",
        "g (float[7] x) => (float[7] y) { y = Gelu<approximate = \"tanh\">(x) }",
        "g (float[1,4,3,3] x, float[4] s, float[4] b) => (float[1,4,3,3] y) "
        "{ y = GroupNormalization<num_groups = 2>(x, s, b) }",
        "g (float[7] x) => (float[7] y) { y = HardSigmoid(x) }",
        "g (float[7] x) => (float[7] y) { y = HardSwish(x) }",
        "g (float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y, float[2,3,1] m) "
        "{ y, m = LayerNormalization(x, s, b) }",
        "g (float[7] x) => (float[7] y) { y = LeakyRelu<alpha = 0.1>(x) }",
        "g (float[2,5] x) => (float[2,5] y) { y = LogSoftmax(x) }",
        "g (float[2,3,4,4] x) => (float[2,3,4,4] y) { y = MeanVarianceNormalization(x) }",
        "g (float[7] x) => (float[7] y) { y = Mish(x) }",
        "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = PRelu(x, s) }",
        "g (float[2,3,4] x, float[4] s) => (float[2,3,4] y) { y = RMSNormalization(x, s) }",
        "g (float[2,5] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceL1(x, a) }",
        "g (float[2,5] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceL2(x, a) }",
        "g (float[2,5] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceLogSumExp(x, a) }",
        "g (float[7] x) => (float[7] y) { y = Relu(x) }",
        "g (float[7] x) => (float[7] y) { y = Selu(x) }",
        "g (float[7] x) => (float[7] y) { y = Shrink<bias = 0.5, lambd = 1.0>(x) }",
        "g (float[2,5] x) => (float[2,5] y) { y = Softmax<axis = 0>(x) }",
        "g (float[7] x) => (float[7] y) { y = Softplus(x) }",
        "g (float[7] x) => (float[7] y) { y = Swish<alpha = 0.5>(x) }",
        "g (float[7] x) => (float[7] y) { y = ThresholdedRelu<alpha = 0.5>(x) }"));

}  // namespace
}  // namespace onnx_cudnn
