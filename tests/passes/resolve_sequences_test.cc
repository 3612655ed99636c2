#include "passes/rewrite/utils/resolve_sequences.h"

#include "gtest/gtest.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

TEST(ResolveSequenceTest, TakesTheElementThatWasPutThere) {
  ExpectBound(R"(
      g (float[2] x, float[3] y) => (float[2] z) <int64 zero = {0}, int64 one = {1}, int64 last = {-1}>
      { e = SequenceEmpty()
        s = SequenceInsert(e, y)
        t = SequenceInsert(s, x, zero)
        u = SequenceInsert(t, y, last)
        v = SequenceErase(u, one)
        a = SequenceAt(v, zero)
        z = Relu(a) })",
              {}, "g (f32[2] x, f32[3] y) => (f32[2] z) { z = Relu(x) }");
}

TEST(ResolveSequenceTest, JoinsElements) {
  ExpectBound(
      "g (float[2] x, float[2] y) => (float[A] z, int64 n) { s = SequenceConstruct(x, y) "
      "z = ConcatFromSequence<axis = 0>(s) l = SequenceLength(s) n = Neg(l) }",
      {},
      "g (f32[2] x, f32[2] y) => (f32[4] z = concat, i64[] n = identity) { "
      "concat = Concat<axis = 0>(x, y) identity = Identity({-2}) }");
}

TEST(ResolveSequenceTest, SplitsTensors) {
  const Graph graph = GraphFromText(R"(
      g (float[3,2] x) => (float[A] y, float[B,2] z) <int64 two = {2}>
      { s = SplitToSequence<axis = 0, keepdims = 0>(x)
        a = SequenceAt(s, two)
        y = Relu(a)
        t = SplitToSequence<axis = 0>(x, two)
        l = SequenceLength(t)
        one = SequenceLength(s)
        i = Sub(l, two)
        b = SequenceAt(t, i)
        z = Relu(b) })");
  ExpectRunsLikeEvaluate(graph);
}

TEST(ResolveSequenceTest, MapsElements) {
  ExpectBound(R"(
      g (float[2] x, float[3] y, float[1] k) => (float[3] z) <int64 one = {1}>
      { s = SequenceConstruct(x, y)
        t = SequenceMap(s, k) <body = b (float[A] e, float[1] f) => (float[B] r) { r = Add(e, f) }>
        z = SequenceAt(t, one) })",
              {}, "g (f32[2] x, f32[3] y, f32[1] k) => (f32[3] z = r_0) { r_0 = Add(y, k) }");
}

TEST(ResolveSequenceTest, TakesTheElementOfAnOptional) {
  ExpectBound(R"(
      g (float[2] x) => (float[2] y, bool h)
      { o = Optional(x)
        e = OptionalGetElement(o)
        y = Relu(e)
        p = OptionalHasElement(o)
        h = Not(p) })",
              {},
              "g (f32[2] x) => (f32[2] y, bool[] h = identity) { y = Relu(x) identity = "
              "Identity({0}) }");
}

TEST(ResolveSequenceTest, PositionsThatAreNotConstantStay) {
  const Graph graph = GraphFromText(R"(
      g (float[2] x, int64 i) => (float[2] y)
      { s = SequenceConstruct(x, x)
        y = SequenceAt(s, i) })");
  Graph copy = graph.Clone();
  CopyBudget budget;
  for (Node* node : copy.TopologicalOrder()) {
    const Match match = ResolveSequence(copy, *node, budget);
    EXPECT_FALSE(match.changed());
    if (node->op() != "SequenceAt") continue;
    EXPECT_EQ(match.reason(), "the position is not a constant within the sequence");
  }
}

}  // namespace
}  // namespace onnx_cudnn
