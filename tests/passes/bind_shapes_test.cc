#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

void ExpectError(std::string_view text, const InputDims& dims, absl::StatusCode code,
                 std::string_view message) {
  const absl::StatusOr<Graph> bound = BindShapes(GraphFromText(text), dims, {});
  EXPECT_EQ(bound.status().code(), code);
  EXPECT_EQ(bound.status().message(), message);
}

TEST(BindShapesTest, GivesEveryValueItsShape) {
  ExpectBound("g (float[N,3] x) => (float[N,3] y) { t = Relu(x) y = Neg(t) }", {{"x", {2, 3}}},
              "g (f32[2,3] x) => (f32[2,3] y) { t = Relu(x) y = Neg(t) }");
}

TEST(BindShapesTest, FoldsShapesOfShapes) {  // Reshape(x, concat(shape(x)[0], -1))
  ExpectBound(R"(
      g (float[N,3,4] x) => (float[N,M] y) <int64[1] zero = {0}, int64[1] rest = {-1}>
      { s = Shape(x)
        n = Gather(s, zero)
        r = Concat<axis = 0>(n, rest)
        t = Reshape(x, r)
        y = Relu(t) })",
              {{"x", {2, 3, 4}}},
              "g (f32[2,3,4] x) => (f32[2,12] y) { t = Reshape(x, {2, -1}) y = Relu(t) }");
}

TEST(BindShapesTest, InlinesAnIfWithAConditionThatFollowsFromShapes) {
  const std::string_view text = R"(
      g (float[N] x) => (float[N] y) <int64 two = {2}>
      { s = Size(x)
        c = Greater(s, two)
        z = If(c) <
          then_branch = a () => (float[N] p) { p = Abs(x) },
          else_branch = b () => (float[N] q) { q = Neg(x) }>
        y = Relu(z) })";
  ExpectBound(text, {{"x", {3}}}, "g (f32[3] x) => (f32[3] y) { p = Abs(x) y = Relu(p) }");
  ExpectBound(text, {{"x", {2}}}, "g (f32[2] x) => (f32[2] y) { q = Neg(x) y = Relu(q) }");
}

TEST(BindShapesTest, FoldsWithinBranches) {  // with captured Values that were folded
  ExpectBound(R"(
      g (bool c, float[N] x) => (float[M,2] y) <int64[2] k = {1, -2}>
      { r = Neg(k)
        y = If(c) <
          then_branch = a () => (float[A,2] p) { p = Reshape(x, r) },
          else_branch = b () => (float[B,2] q) { t = Neg(x) q = Reshape(t, r) }> })",
              {{"x", {6}}},
              "g (bool[] c, f32[6] x) => (f32[3,2] y) { y = If< "
              "else_branch = b (f32[6] x, i64[2] r) => (f32[3,2] q) { t = Neg(x) q = Reshape(t, "
              "{-1, 2}) }, "
              "then_branch = a (f32[6] x, i64[2] r) => (f32[3,2] p) { p = Reshape(x, {-1, 2}) } "
              ">(c, x, {-1, 2}) }");
}

TEST(BindShapesTest, ForgetsShapesThatHeldForOtherInputs) {
  ExpectBound("g (float[N] x) => (float[1] y) { t = Relu(x) y = Neg(t) }", {{"x", {4}}},
              "g (f32[4] x) => (f32[4] y) { t = Relu(x) y = Neg(t) }");
}

TEST(BindShapesTest, GivesOutputsBytesOfTheirOwn) {
  ExpectBound("g (float[2] x) => (float[2] x) { }", {},
              "g (f32[2] x) => (f32[2] x = identity) { identity = Identity(x) }");
}

TEST(BindShapesTest, LeavesTheGivenGraphAsItIs) {
  const Graph graph = GraphFromText("g (float[N] x) => (int64[1] y) { y = Shape(x) }");
  const std::string before = PrintOnOneLine(graph);
  ASSERT_TRUE(BindShapes(graph, {{"x", {4}}}, {}).ok());
  EXPECT_EQ(PrintOnOneLine(graph), before);
}

constexpr std::string_view kTwoInputs =
    "g (float[N,3] x, float[N] z) => (float[N] y) { y = Relu(z) }";

TEST(BindShapesTest, RefusesAnUnknownInput) {
  ExpectError(kTwoInputs, {{"w", {1}}}, absl::StatusCode::kInvalidArgument,
              "the model has no input \"w\"; it has: x, z");
}

TEST(BindShapesTest, RefusesAMissingEntry) {
  ExpectError(kTwoInputs, {{"x", {2, 3}}}, absl::StatusCode::kInvalidArgument,
              "input \"z\" f32[N] needs dims: give a number for each");
}

TEST(BindShapesTest, RefusesAWrongRank) {
  ExpectError(kTwoInputs, {{"x", {2}}, {"z", {2}}}, absl::StatusCode::kInvalidArgument,
              "input \"x\" f32[N,3] has rank 2, got [2]");
}

TEST(BindShapesTest, RefusesAnotherNumberThanTheModels) {
  ExpectError(kTwoInputs, {{"x", {2, 4}}, {"z", {2}}}, absl::StatusCode::kInvalidArgument,
              "input \"x\" f32[N,3]: the model fixes a dim to 3, got 4");
}

TEST(BindShapesTest, RefusesOneSymbolWithTwoNumbers) {
  ExpectError(kTwoInputs, {{"x", {2, 3}}, {"z", {5}}}, absl::StatusCode::kInvalidArgument,
              "input \"z\" f32[N]: N is 2 in input \"x\", got 5");
}

TEST(BindShapesTest, RefusesNegativeDims) {
  ExpectError(kTwoInputs, {{"x", {-2, 3}}, {"z", {5}}}, absl::StatusCode::kInvalidArgument,
              "input \"x\" f32[N,3]: negative dim -2");
}

TEST(BindShapesTest, NamesTheNodeWithADataDependentShape) {
  const absl::StatusOr<Graph> bound = BindShapes(
      GraphFromText(
          "g (float[4] x, int64[2] s) => (float[A,B] y) { t = Neg(s) y = Reshape(x, t) }"),
      {}, {});
  EXPECT_EQ(bound.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(bound.status().message().find("(Reshape): Reshape (opset 28) on f32"),
            std::string::npos)
      << bound.status();
  EXPECT_NE(bound.status().message().find("depends on data, the elements of \"t\" i64[2]"),
            std::string::npos)
      << bound.status();
}

TEST(BindShapesTest, KnowsShapesBehindWhatDependsOnElements) {
  const Graph bound = *BindShapes(GraphFromText(R"(
      g (float[N,5] x) => (float[A,B] y) <float[4] w = {0, 5, 0, 6}>
      { i = NonZero(w)
        columns = Squeeze(i)
        z = Gather<axis = 1>(x, columns)
        y = Relu(z) })"),
                                  {{"x", {3, 5}}}, {});
  EXPECT_EQ(ToString(bound.outputs()[0].value->type()), "f32[3,2]");
}

TEST(BindShapesTest, NamesTheInputThatAnOpNeedsBeforeTheRun) {
  ExpectError("g (float[4] x) => (int64[1,N] y) { y = NonZero(x) }", {},
              absl::StatusCode::kUnimplemented,
              "node (NonZero): NonZero (opset 28) on f32: the shapes of its outputs follow from "
              "the elements of \"x\" f32[4], which are not known before the Run");
}

TEST(BindShapesTest, ReportsWhyAnOpRefusesItsConstants) {
  ExpectError(R"(
      g (float[N] x) => (float[N] y)
      <float[1,2,4] boxes = {0, 0, 1, 1, 0, 0, 2, 2}, float[1,1,3] scores = {1, 2, 3}>
      { i = NonMaxSuppression(boxes, scores)
        s = ReduceSum<keepdims = 0>(i)
        f = Cast<to = 1>(s)
        y = Mul(x, f) })",
              {{"x", {2}}}, absl::StatusCode::kInvalidArgument,
              "node (NonMaxSuppression): boxes are [1,2,4] and scores [1,1,3], expected "
              "[batches, boxes, 4] and [batches, classes, boxes]");
}

TEST(BindShapesTest, RefusesAMatrixThatDecidesAShape) {
  ExpectError(
      "g (float[2] x, int64[2,1] axes) => (y) { y = Unsqueeze(x, axes) }", {},
      absl::StatusCode::kInvalidArgument,
      "node (Unsqueeze): input \"axes\" i64[2,1] decides a shape, so it must be a scalar or "
      "a vector");
}

TEST(BindShapesTest, ReportsAWindowLargerThanItsInput) {
  ExpectError("g (float[N,3,H,W] x, float[8,3,3,3] w) => (float[N,8,P,Q] y) { y = Conv(x, w) }",
              {{"x", {1, 3, 1, 1}}, {"w", {8, 3, 3, 3}}}, absl::StatusCode::kInvalidArgument,
              "node (Conv): its window of 3 (kernel 3, dilation 1) is larger than the padded input "
              "of 1 (extent 1, pads 0 and 0) along spatial axis 0 of f32[1,3,1,1]");
}

TEST(BindShapesTest, ReportsTheLimitOfIterations) {
  ExpectError(
      R"(
      g (float[N] x) => (float[N] y) <int64 n = {100000}, bool c = {1}>
      { y = Loop<body = b (int64 i, bool k, float[N] s) => (bool o, float[N] t)
          { o = Identity(k) d = Mul(s, s) t = Neg(d) }>(n, c, x) })",
      {{"x", {2}}}, absl::StatusCode::kUnimplemented,
      "node (Loop): its 100000 iterations are too many: of the 4096 nodes that copies of bodies "
      "may add 4096 are left, one iteration adds 3");
}

TEST(BindShapesTest, ReportsThatIterationsCannotBeCounted) {
  ExpectError(
      R"(
      g (float[N] x, int64 n, bool c) => (float[N] y)
      { y = Loop<body = b (int64 i, bool k, float[N] s) => (bool o, float[N] t)
          { o = Identity(k) t = Neg(s) }>(n, c, x) })",
      {{"x", {2}}}, absl::StatusCode::kUnimplemented,
      "node (Loop): a Loop runs when its iterations can be counted before the run: its trip "
      "count is a constant or an input, and its condition stays true");
}

// As exporters write a squeeze of an axis that may be 1: one branch fits each batch.
constexpr std::string_view kSqueezeIfOne = R"(
      g (float[N,4] x) => (y) <int64 one = {1}, int64[1] first = {0}, int64 zero = {0}>
      { s = Shape(x)
        n = Gather(s, zero)
        c = Equal(n, one)
        y = If(c) <
          then_branch = t () => (u) { u = Squeeze(x, first) },
          else_branch = e () => (float[N,4] v) { v = Neg(x) }> })";

TEST(BindShapesTest, InfersTheTakenBranchAlone) {
  ExpectBound(kSqueezeIfOne, {{"x", {2, 4}}}, "g (f32[2,4] x) => (f32[2,4] y = v) { v = Neg(x) }");
  ExpectBound(kSqueezeIfOne, {{"x", {1, 4}}},
              "g (f32[1,4] x) => (f32[4] y = u) { u = Squeeze(x, {0}) }");
}

TEST(BindShapesTest, NamesTheBranchThatDoesNotFit) {
  const absl::StatusOr<Graph> bound = BindShapes(GraphFromText(R"(
      g (bool[N] c, float[N,4] x) => (y) <int64[1] first = {0}>
      { y = If(c) <
          then_branch = t () => (u) { u = Squeeze(x, first) },
          else_branch = e () => (float[N,4] v) { v = Neg(x) }> })"),
                                                 {{"c", {2}}, {"x", {2, 4}}}, {});
  EXPECT_EQ(bound.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(
      bound.status().message(),
      "node (If): its condition is known only when it runs, so both branches must fit these "
      "shapes; then_branch does not: node (Squeeze): "))
      << bound.status();
}

TEST(BindShapesTest, NamesOpsThatAreNotImplementedFirst) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {4}));
  graph.AddOutput("y", graph.AddNode({.op = "Bogus", .inputs = {&x}}).output(0));
  const absl::StatusOr<Graph> bound = BindShapes(graph, {}, {});
  EXPECT_EQ(bound.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(bound.status().message().find("the op is not implemented"), std::string::npos)
      << bound.status();
}

TEST(BindShapesTest, TakesTheValuesOfInputs) {
  const absl::StatusOr<Graph> bound = BindShapes(
      GraphFromText(
          "g (float[4] x, int64[2] s) => (float[A,B] y) { t = Neg(s) y = Reshape(x, t) }"),
      {}, {.input_values = {{"s", HostTensor::Ints({-2, 1})}}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(PrintOnOneLine(*bound),
            "g (f32[4] x, i64[2] s) => (f32[2,2] y) { y = Reshape(x, {2, -1}) }");
}

TEST(BindShapesTest, RefusesPetabytes) {
  const absl::StatusOr<Graph> bound = BindShapes(GraphFromText(R"(
      g (float[1] x) => (float[N,M] y) <int64[2] s = {1000000, 1000000000}>
      { t = ConstantOfShape(s)
        y = Add(x, t) })"),
                                                 {}, {});
  EXPECT_EQ(bound.status().code(), absl::StatusCode::kResourceExhausted) << bound.status();
}

TEST(BindShapesTest, RefusesBranchesThatRunFasterAsPrograms) {
  const Graph graph = GraphFromText(R"(
      g (float[128,128] x) => (float[128,128] y) <float zero = {0}> {
        s = ReduceSum<keepdims = 0>(x)
        c = Greater(s, zero)
        y = If(c) <then_branch = a () => (p) { p = MatMul(x, x) },
                   else_branch = b () => (q) { q = Neg(x) }> })");
  const OwnedTarget h200 = *MakeTarget("h200");
  const absl::StatusOr<Graph> bound =
      BindShapes(graph, {}, {.body_target = &h200.target}, &h200.target);
  EXPECT_EQ(bound.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(bound.status().message(), "node (If): its bodies run faster as programs of their own");
  EXPECT_TRUE(BindShapes(graph, {}, {}, &h200.target).ok());
}

TEST(BindShapesTest, TakesABatchOfNone) {
  ExpectBound("g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }", {{"x", {0, 3}}},
              "g (f32[0,3] x) => (f32[0,3] y) { y = Relu(x) }");
}

}  // namespace
}  // namespace onnx_cudnn
