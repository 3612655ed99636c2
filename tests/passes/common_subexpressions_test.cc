
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/infer.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// The Graph of `body`, which reads x.
std::string GraphOf(std::string_view body, std::string_view type) {
  return absl::StrCat("g (", type, "[2] x) => (", type, "[2] y) { ", body, " }");
}

void ExpectBecomes(std::string_view before, std::string_view after) {
  ExpectRewrite(CommonSubexpressions(), GraphOf(before, "float"), GraphOf(after, "f32"));
}

void ExpectStays(std::string_view body, std::string_view reason) {
  ExpectNoRewrite(CommonSubexpressions(), GraphOf(body, "float"), reason);
}

TEST(CommonSubexpressionsTest, MergesEqualNodes) {
  ExpectBecomes("a = Relu(x) b = Relu(x) y = Add(a, b)", "a = Relu(x) y = Add(a, a)");
}

TEST(CommonSubexpressionsTest, FollowsAChain) {
  ExpectBecomes(
      "a = Relu(x) b = Relu(x) c = LeakyRelu<alpha = 0.5>(a) d = LeakyRelu<alpha = 0.5>(b) y = "
      "Add(c, d)",
      "a = Relu(x) c = LeakyRelu<alpha = 0.5>(a) y = Add(c, c)");
}

// All of the first chain comes before the second; each Node has a single reader.
TEST(CommonSubexpressionsTest, MergesChainsThatComeOneAfterTheOther) {
  ExpectBecomes(
      "a = Relu(x) b = Neg(a) c = Mul(b, b) d = Exp(c) e = Relu(x) f = Neg(e) h = Mul(f, f) i = "
      "Exp(h) y = Add(d, i)",
      "a = Relu(x) b = Neg(a) c = Mul(b, b) d = Exp(c) y = Add(d, d)");
}

TEST(CommonSubexpressionsTest, ComparesConstantsByContent) {
  ExpectRewrite(CommonSubexpressions(),
                "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}, float[2] d = {1, 2}> "
                "{ a = Add(x, c) b = Add(x, d) y = Mul(a, b) }",
                "g (f32[2] x) => (f32[2] y) { a = Add(x, {1, 2}) y = Mul(a, a) }");
}

TEST(CommonSubexpressionsTest, KeepsTheNamesOfOutputs) {
  ExpectRewrite(CommonSubexpressions(),
                "g (float[2] x) => (float[2] p, float[2] q) { p = Relu(x) q = Relu(x) }",
                "g (f32[2] x) => (f32[2] p, f32[2] q = p) { p = Relu(x) }");
}

TEST(CommonSubexpressionsTest, MergesAllOutputs) {
  ExpectRewrite(CommonSubexpressions(), R"(
      g (float[4] x) => (float[2] y)
      { a, b = Split<axis = 0, num_outputs = 2>(x)
        c, d = Split<axis = 0, num_outputs = 2>(x)
        y = Add(a, d) })",
                R"(g (f32[4] x) => (f32[2] y) {
        a, b = Split<axis = 0, num_outputs = 2>(x) y = Add(a, b) })");
}

TEST(CommonSubexpressionsTest, LooksIntoBodies) {
  ExpectRewrite(CommonSubexpressions(), R"(
      g (bool c, float[2] x) => (float[2] y)
      { y = If(c) <
          then_branch = t () => (float[2] p) { a = Neg(x) b = Neg(x) p = Add(a, b) },
          else_branch = e () => (float[2] q) { q = Neg(x) }> })",
                R"(g (bool[] c, f32[2] x) => (f32[2] y) { y = If<
          else_branch = e (f32[2] x) => (f32[2] q) { q = Neg(x) },
          then_branch = t (f32[2] x) => (f32[2] p) { a = Neg(x) p = Add(a, a) } >(c, x) })");
}

TEST(CommonSubexpressionsTest, LeavesOtherAttributes) {
  ExpectStays("a = LeakyRelu<alpha = 0.5>(x) b = LeakyRelu<alpha = 0.25>(x) y = Add(a, b)", "");
}

TEST(CommonSubexpressionsTest, LeavesConstantsOfOtherShapeOrSign) {
  ExpectNoRewrite(CommonSubexpressions(), R"(
      g (float[2] x) => (float[1,2] y)
        <float[2] c = {0, 0}, float[1,2] d = {0, 0}, float[2] e = {-0.0, -0.0}>
      { a = Add(x, c)
        b = Add(x, d)
        f = Add(x, e)
        y = Sum(a, b, f) })",
                  "");
}

TEST(CommonSubexpressionsTest, LeavesOtherOutputs) {
  ExpectNoRewrite(CommonSubexpressions(), R"(
      g (float[1,1,4,4] x) => (float[1,1,3,3] y, float[1,1,3,3] z, int64[1,1,3,3] i)
      { y = MaxPool<kernel_shape = [2, 2]>(x)
        z, i = MaxPool<kernel_shape = [2, 2]>(x) })",
                  "");
}

TEST(CommonSubexpressionsTest, LeavesRandomNumbers) {
  ExpectStays("a = RandomNormalLike(x) b = RandomNormalLike(x) y = Sub(a, b)",
              "each run draws anew");
}

TEST(CommonSubexpressionsTest, LeavesDropoutsThatMayTrain) {
  ExpectNoRewrite(CommonSubexpressions(), R"(
      g (float[2] x, bool t) => (bool[2] y) <float r = {0.5}>
      { a, m = Dropout(x, r, t)
        b, n = Dropout(x, r, t)
        y = Xor(m, n) })",
                  "each run draws anew");
}

TEST(CommonSubexpressionsTest, LeavesNodesWithBodies) {
  ExpectNoRewrite(CommonSubexpressions(), R"(
      g (bool c, float[2] x) => (float[2] y)
      { a = If(c) <
          then_branch = t1 () => (float[2] p) { p = Relu(x) },
          else_branch = e1 () => (float[2] q) { q = Neg(x) }>
        b = If(c) <
          then_branch = t2 () => (float[2] p) { p = Relu(x) },
          else_branch = e2 () => (float[2] q) { q = Neg(x) }>
        y = Add(a, b) })",
                  "it has bodies");
}

// Readers of the first Split are visited again while the second one's outputs are merged, so that
// their table may be reallocated (AddressSanitizer detects stale pointers into it).
TEST(CommonSubexpressionsTest, MergesOutputsWhileItsTableGrows) {
  for (int others = 0; others < 64; ++others) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
    const auto add = [&](std::string op, Value& input, int outputs, Attrs attrs) -> Node& {
      return graph.AddNode({.op = std::move(op),
                            .inputs = {&input},
                            .attrs = std::move(attrs),
                            .outputs = std::vector<std::string>(outputs, "*")});
    };
    for (int i = 0; i < others; ++i) {
      const Attrs alpha = {{"alpha", static_cast<float>(i)}};
      graph.AddOutput("o", add("LeakyRelu", x, 1, alpha).output(0));
    }
    for (const int side : {0, 1}) {
      Node& split = add("Split", x, 2, {{"num_outputs", int64_t{2}}});
      for (const int half : {0, 1}) {
        Value& value = split.output(half);
        graph.AddOutput("s", add(side == 0 ? "Neg" : "Abs", value, 1, {}).output(0));
      }
    }
    ASSERT_TRUE(InferShapes(graph).ok());
    PassContext context;
    const auto changed = CommonSubexpressions()->Run(graph, context);
    ASSERT_TRUE(changed.ok() && *changed);
    EXPECT_EQ(graph.node_count(), others + 5);
  }
}

TEST(CommonSubexpressionsTest, IsNearLinear) {  // pairs of equal Nodes
  Graph graph;
  Value* v = &graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  for (int i = 0; i < 33333; ++i) {
    Node& a = graph.AddNode({.op = "Relu", .inputs = {v}});
    Node& b = graph.AddNode({.op = "Relu", .inputs = {v}});
    v = &graph.AddNode({.op = "Add", .inputs = {&a.output(0), &b.output(0)}}).output(0);
  }
  graph.AddOutput("y", *v);
  ExpectChangesFast(CommonSubexpressions(), graph);
  EXPECT_EQ(graph.node_count(), 66666);
}

}  // namespace
}  // namespace onnx_cudnn
