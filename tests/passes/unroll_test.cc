#include "passes/rewrite/utils/unroll.h"

#include "gtest/gtest.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

void ExpectReason(std::string_view text, std::string_view reason) {
  Graph graph = GraphFromText(text);
  for (Node* node : graph.TopologicalOrder()) {
    if (node->bodies().empty()) continue;
    CopyBudget budget;
    const Match match = Unroll(graph, *node, budget);
    ASSERT_TRUE(match.refused());
    EXPECT_EQ(match.reason(), reason);
  }
}

TEST(UnrollTest, ScansInBothDirections) {
  ExpectBound(R"(
      g (float[1] s, float[2,1] x) => (float[1] t, float[2,1] y)
      { t, y = Scan<num_scan_inputs = 1, scan_input_directions = [1], body =
          b (float[1] a, float[1] e) => (float[1] c, float[1] d) { c = Add(a, e) d = Neg(c) }>(s, x) })",
              {},
              "g (f32[1] s, f32[2,1] x) => (f32[1] t = c_3, f32[2,1] y = concat) { "
              "gather = Gather<axis = 0>(x, {1}) c_0 = Add(s, gather) d = Neg(c_0) "
              "gather_2 = Gather<axis = 0>(x, {0}) c_3 = Add(c_0, gather_2) d_4 = Neg(c_3) "
              "unsqueeze = Unsqueeze(d, {0}) unsqueeze_6 = Unsqueeze(d_4, {0}) "
              "concat = Concat<axis = 0>(unsqueeze, unsqueeze_6) }");
}

// A Loop of `n` iterations at most, which goes on as long as `condition` holds.
std::string LoopOf(int n, std::string_view condition) {
  return absl::StrCat("g (float[1] x) => (float[1] y) <int64 n = {", n, "}> { y = Loop<body = ",
                      "b (int64 i, bool c, float[1] a) => (bool k, float[1] d) { k = ", condition,
                      " d = Mul(a, x) }>(n, , x) }");
}

TEST(UnrollTest, LoopsWithAConditionThatStaysTrue) {
  ExpectBound(LoopOf(2, "Identity(c)"), {},
              "g (f32[1] x) => (f32[1] y = d_3) { d = Mul(x, x) d_3 = Mul(d, x) }");
}

TEST(UnrollTest, LoopsWithoutAnIterationGiveTheirStatesAndEmptyStacks) {
  const std::string body = R"(body = b (int64 i, bool c, float[2] a) => (bool k, float[2] d, e)
      { k = Less(i, n) d = Mul(a, a) e = Concat<axis = 0>(a, x) })";
  ExpectBound("g (float[2] x) => (float[2] y, float[?,?] z) <int64 n = {0}> { y, z = Loop<" + body +
                  ">(n, , x) }",
              {},
              "g (f32[2] x) => (f32[2] y = identity, f32[0,4] z = identity_6) "
              "{ identity = Identity(x) identity_6 = Identity({}) }");
  ExpectBound(
      "g (float[2] x, int64 n) => (float[2] y, float[?,?] z) <bool never = {0}> "
      "{ y, z = Loop<" +
          body + ">(n, never, x) }",
      {},
      "g (f32[2] x, i64[] n) => (f32[2] y = identity, f32[0,4] z = identity_5) "
      "{ identity = Identity(x) identity_5 = Identity({}) }");
}

TEST(UnrollTest, LoopsThatMayEndEarlyStay) {
  ExpectReason(LoopOf(2, "Less(a, x)"), "the number of iterations is not known");
}

TEST(UnrollTest, TooManyIterationsStay) {
  ExpectReason(LoopOf(100000, "Identity(c)"), "the copies of its body would be too many");
}

}  // namespace
}  // namespace onnx_cudnn
