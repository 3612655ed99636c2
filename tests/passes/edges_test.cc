// The edge graphs of the design, from text to outputs, on the interleaving CPU device.
#include "gtest/gtest.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

std::shared_ptr<const Program> ExpectRuns(std::string_view text, const InputDims& dims = {}) {
  return ExpectRunsLikeEvaluate(GraphFromText(text), dims);
}

TEST(EdgesTest, OutputIsAnInput) { ExpectRuns("g (float[2] x) => (float[2] x) { }"); }

TEST(EdgesTest, OutputIsAConstant) {
  ExpectRuns("g (float[2] x) => (float[2] y, float[2] c) <float[2] c = {1, 2}> { y = Relu(x) }");
}

TEST(EdgesTest, SameOutputTwice) {
  Graph graph = GraphFromText("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  graph.AddOutput("again", *graph.outputs()[0].value);
  ExpectRunsLikeEvaluate(graph);
}

TEST(EdgesTest, AnOutputThatIsReadToo) {
  ExpectRuns("g (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Neg(y) }");
}

TEST(EdgesTest, AViewAtAnOutput) {
  ExpectRuns("g (float[2,3] x) => (float[6,1] y) { t = Relu(x) y = Flatten<axis = 2>(t) }");
}

TEST(EdgesTest, AViewOfAnInput) {
  const auto program =
      ExpectRuns("g (float[2,3] x) => (float[1,6] y) { t = Flatten<axis = 0>(x) y = Relu(t) }");
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->steps[1].in[0].kind, Operand::Kind::kInput);
  EXPECT_EQ(program->memory.arena_bytes, 0);
}

TEST(EdgesTest, AViewOfAnInputAtAnOutput) {
  ExpectRuns("g (float[2,3] x) => (float[1,6] y) { y = Flatten<axis = 0>(x) }");
}

TEST(EdgesTest, AViewOfAnOutput) {
  ExpectRuns(R"(
      g (float[2,3] x) => (float[2,3] y, float[1,6] z)
      { y = Relu(x) t = Flatten<axis = 0>(y) z = Neg(t) })");
}

TEST(EdgesTest, AViewOfAView) {
  ExpectRuns(R"(
      g (float[2,3] x) => (float[6] z) <int64[1] s = {6}>
      { y = Relu(x) t = Flatten<axis = 0>(y) u = Reshape(t, s) z = Neg(u) })");
}

TEST(EdgesTest,
     AViewWhoseSourceIsReadLater) {  // the second Neg must not overwrite what the view shows
  ExpectRuns(R"(
      g (float[2,3] x) => (float[1,6] z, float[2,3] w)
      { y = Relu(x) t = Flatten<axis = 0>(y) u = Neg(t) z = Neg(u) v = Neg(y) w = Neg(v) })");
}

TEST(EdgesTest, EmptyTensors) {
  ExpectRuns("g (float[0,3] x) => (float[0,3] y) { t = Relu(x) y = Neg(t) }");
}

TEST(EdgesTest, ABatchOfNone) {
  ExpectRuns(R"(
      g (float[N,1,4,4] x) => (float[N,1,4,4] y) <float[1,1,1,1] w = {3}>
      { t = Conv(x, w) y = Relu(t) })",
             {{"x", {0, 1, 4, 4}}});
}

TEST(EdgesTest, AScalar) { ExpectRuns("g (float x) => (float y) { y = Relu(x) }"); }

TEST(EdgesTest, OneNode) { ExpectRuns("g (float[2] x) => (float[2] y) { y = Relu(x) }"); }

TEST(EdgesTest, NoInputs) {
  ExpectRuns("g () => (float[2] y) <float[2] c = {-1, 2}> { y = Relu(c) }");
}

TEST(EdgesTest, AnUnusedInput) {
  ExpectRuns("g (float[2] x, float[3] unused) => (float[2] y) { y = Relu(x) }");
}

TEST(EdgesTest, EqualSignaturesWithOtherWeights) {
  const auto program = ExpectRuns(R"(
      g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,2] v = {3, 1}, float[1,1,1,2] w = {5, 2}>
      { a = Conv<pads = [0, 0, 0, 1]>(x, v) y = Conv<pads = [0, 0, 0, 1]>(a, w) })");
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->partitions[0].step, program->partitions[1].step);
}

TEST(EdgesTest, EqualSignaturesWithOtherScalarsDoNotMix) {
  ExpectRuns(R"(
      g (float[2] x) => (float[2] y) <float v = {3}, float w = {5}>
      { a = Mul(x, v) y = Mul(a, w) })");
}

TEST(EdgesTest, OneValueTwiceInANode) {
  ExpectRuns("g (float[2] x) => (float[2] y) { t = Relu(x) u = Mul(t, t) y = Neg(u) }");
}

TEST(EdgesTest, OneValueTwiceInACandidate) {
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kDevice);
  const TestEngine fused({.most_nodes = 3, .channels_last = true});
  ExpectRunsLikeEvaluate(GraphFromText(R"(
      g (float[1,2,2,2] x) => (float[1,2,2,2] y)
      { t = Relu(x) u = Mul(t, x) v = Add(u, x) w = Neg(v) y = Sub(w, w) })"),
                         {}, TargetOf({&fused, host.get()}));
}

TEST(EdgesTest, ChannelsLastIntoAFlatten) {
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kDevice);
  const std::unique_ptr<Engine> view = MakeViewEngine();
  const TestEngine last({.ops = {"Conv", "Relu"}, .most_nodes = 2, .channels_last = true});
  ExpectRunsLikeEvaluate(GraphFromText(R"(
      g (float[N,2,2,2] x) => (float[N,2] y) <float[2,2,1,1] w = {1,2,3,4}, float[8,2] m = {1,2,3,4,5,6,7,8,8,7,6,5,4,3,2,1}>
      { a = Conv(x, w) b = Relu(a) c = Flatten(b) y = MatMul(c, m) })"),
                         {{"x", {3, 2, 2, 2}}}, TargetOf({&last, view.get(), host.get()}));
}

TEST(EdgesTest, OverwritesADyingInput) {  // one buffer serves the whole chain
  const auto program = ExpectRuns(R"(
      g (float[64] x) => (float[64] y)
      { a = Relu(x) b = Neg(a) c = Abs(b) d = Neg(c) y = Abs(d) })");
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->memory.arena_bytes, 256);
}

TEST(EdgesTest, KeepsAnInputThatIsReadLater) {
  ExpectRuns(R"(
      g (float[64] x) => (float[64] y)
      { a = Relu(x) b = Neg(a) c = Abs(a) d = Neg(b) e = Add(c, d) y = Add(e, a) })");
}

TEST(EdgesTest, ParallelBranches) {
  ExpectRuns(R"(
      g (float[64] x) => (float[64] y, float[64] z)
      { a = Relu(x) b1 = Neg(a) b2 = Abs(b1) b3 = Neg(b2) c1 = Abs(a) c2 = Neg(c1) c3 = Abs(c2)
        d1 = Neg(x) d2 = Abs(d1) s = Add(b3, c3) y = Add(s, d2) z = Mul(b3, d1) })");
}

TEST(EdgesTest, AnIfWithEqualShapes) {
  ExpectRuns(R"(
      g (bool c, float[2] x) => (float[2] y)
      { t = Abs(x)
        z = If(c) <
          then_branch = a () => (float[2] p) { p = Neg(t) },
          else_branch = b () => (float[2] q) { q = Mul(t, x) }>
        y = Neg(z) })");
}

TEST(EdgesTest, RefusesAProgramAboveTheLimit) {
  const std::unique_ptr<Engine> host = MakeHostEngine(Space::kDevice);
  Target target = TargetOf({host.get()});
  target.max_bytes = 100;
  const Graph graph = GraphFromText("g (float[64] x) => (float[64] y) { t = Relu(x) y = Neg(t) }");
  const auto program = BuildProgram(graph, {}, target, {});
  EXPECT_EQ(program.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(program.status().message(), "weights and arena take 256 bytes, the limit is 100");
}

}  // namespace
}  // namespace onnx_cudnn
