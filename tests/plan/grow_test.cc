#include "runtime/plan/grow.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/support/graph_text.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

constexpr Rule kNotTaken = {"it is not taken", "take it"};

const Rule* TakePointwise(const GrowthStep& step) {
  return IsPointwise(step.node) ? nullptr : &kNotTaken;
}

const Rule* KeepToMyself(const GrowthStep&) { return &kUnreported; }

class Edges final : public CandidateSink {
 public:
  void Add(Candidate) override {}
  void No(const Engine&, const Node&, std::string) override {}
  void NotFused(const Engine&, const Value& edge, const Node& node, const Rule& rule) override {
    lines.push_back(absl::StrCat(edge.name(), " to ", node.op(), ": ", rule.says));
  }
  std::vector<std::string> lines;
};

using Lines = std::vector<std::string>;

const Node* Find(const Graph& graph, std::string_view op) {
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() == op) return node;
  }
  return nullptr;
}

struct Grown {
  Lines sets;       // "Conv Relu"
  Lines not_fused;  // "t to Conv: it is not taken"
};

Grown GrowAt(const Graph& graph, std::string_view op, const GrowthOptions& options) {
  const TestEngine engine({});
  Edges edges;
  Grown grown;
  for (const auto& nodes : Grow(engine, {Find(graph, op)}, options, edges)) {
    Lines ops;
    for (const Node* node : nodes) ops.push_back(node->op());
    grown.sets.push_back(absl::StrJoin(ops, " "));
    EXPECT_TRUE(static_cast<bool>(CheckGrown(nodes, {Find(graph, op)}, options)));
  }
  grown.not_fused = edges.lines;
  return grown;
}

const GrowthOptions kForward = {.forward = TakePointwise};
const GrowthOptions kBoth = {.forward = TakePointwise, .backward = TakePointwise};

TEST(GrowTest, EveryStepIsASet) {
  const Graph graph = GraphFromText(
      "g (float[1,2,3,3] x, float[2,2,1,1] w) => (y) "
      "{ t = Conv(x, w) u = Relu(t) v = Tanh(u) y = Conv(v, w) }");
  const Grown grown = GrowAt(graph, "Conv", kForward);
  EXPECT_EQ(grown.sets, Lines({"Conv", "Conv Relu", "Conv Relu Tanh"}));
  EXPECT_EQ(grown.not_fused, Lines({"v to Conv: it is not taken"}));
}

TEST(GrowTest, WithoutRulesNothingJoins) {
  const Graph graph = GraphFromText("g (float[2] x) => (y) { t = Relu(x) y = Tanh(t) }");
  const Grown grown = GrowAt(graph, "Relu", {});
  EXPECT_EQ(grown.sets, Lines({"Relu"}));
  EXPECT_EQ(grown.not_fused, Lines());
}

TEST(GrowTest, DiamondsCloseOnceTheirSidesAreIn) {
  const Graph graph = GraphFromText(
      "g (float[2] x) => (y) { t = Relu(x) s = Sigmoid(t) e = Exp(s) y = Mul(t, e) }");
  EXPECT_EQ(GrowAt(graph, "Relu", kForward).sets,
            Lines({"Relu", "Relu Sigmoid", "Relu Sigmoid Exp", "Relu Sigmoid Exp Mul"}));
}

TEST(GrowTest, SetsStayConvex) {
  const Graph graph = GraphFromText(
      "g (float[1,2,3,3] x, float[2,2,1,1] w) => (y) "
      "{ t = Relu(x) c = Conv(t, w) d = Tanh(c) y = Add(t, d) }");
  const Grown grown = GrowAt(graph, "Relu", kForward);
  EXPECT_EQ(grown.sets, Lines({"Relu"}));
  EXPECT_EQ(grown.not_fused,
            Lines({"t to Conv: it is not taken",
                   "t to Add: another operand of the node is computed outside from the same "
                   "values"}));
}

TEST(GrowTest, ValuesWithOtherReadersBecomeOutputs) {
  const Graph graph =
      GraphFromText("g (float[2] x) => (t, u, y) { t = Relu(x) u = Exp(t) y = Tanh(t) }");
  EXPECT_EQ(GrowAt(graph, "Relu", kForward).sets, Lines({"Relu", "Relu Exp", "Relu Exp Tanh"}));
}

TEST(GrowTest, ProducersJoinEachOfTheSetsLargestFirst) {
  const Graph graph = GraphFromText(
      "g (float[1,2,3,3] x, float[2,2,1,1] w) => (y) "
      "{ r = Relu(x) s = Exp(r) t = Conv(s, w) y = Tanh(t) }");
  EXPECT_EQ(GrowAt(graph, "Conv", kBoth).sets,
            Lines({"Conv", "Conv Tanh", "Exp Conv Tanh", "Relu Exp Conv Tanh", "Exp Conv",
                   "Relu Exp Conv"}));
}

TEST(GrowTest, ProducersWithOtherReadersStayOut) {
  const std::string body = "{ r = Relu(x) t = Conv(r, w) y = Tanh(t) }";
  const std::string inputs = "g (float[1,2,3,3] x, float[2,2,1,1] w) => ";
  EXPECT_EQ(GrowAt(GraphFromText(inputs + "(y) " + body), "Conv", kBoth).sets.size(), 4u);
  EXPECT_EQ(GrowAt(GraphFromText(inputs + "(y, r) " + body), "Conv", kBoth).sets.size(), 2u);
}

TEST(GrowTest, RulesAreCalledForTheEdgesOfTheLargestSet) {
  const Graph graph = GraphFromText(
      "g (float[1,2,3,3] x, float[2,2,1,1] w) => (y) "
      "{ a = Conv(x, w) t = Conv(a, w) u = Relu(t) y = Conv(u, w) }");
  const Node* anchor = Find(graph, "Relu");
  const TestEngine engine({});
  Edges edges;
  Grow(engine, {anchor}, kBoth, edges);
  EXPECT_EQ(edges.lines, Lines({"u to Conv: it is not taken", "t to Conv: it is not taken"}));
  edges.lines.clear();
  Grow(engine, {anchor}, {.forward = KeepToMyself, .backward = KeepToMyself}, edges);
  EXPECT_EQ(edges.lines, Lines());
}

TEST(GrowTest, GrowthEndsAtItsLimits) {
  std::string text = "g (float[2] v0) => (v9) { ";
  for (int i = 0; i < 9; ++i) absl::StrAppend(&text, "v", i + 1, " = Relu(v", i, ") ");
  const Graph graph = GraphFromText(text + "}");
  GrowthOptions options = kForward;
  options.most_added = 4;
  const Grown grown = GrowAt(graph, "Relu", options);
  EXPECT_EQ(grown.sets.size(), 5u);
  EXPECT_EQ(grown.not_fused, Lines({"v5 to Relu: the candidate is as large as candidates may be"}));
  options = kForward;
  options.most_sets = 3;
  EXPECT_EQ(GrowAt(graph, "Relu", options).sets.size(), 3u);
}

TEST(CheckGrownTest, ReportsWhatPreventsIt) {
  const Graph graph = GraphFromText(
      "g (float[1,2,3,3] x, float[2,2,1,1] w) => (y, z) "
      "{ t = Relu(x) c = Conv(t, w) y = Tanh(c) z = Exp(x) }");
  const Node* relu = Find(graph, "Relu");
  const auto reason = [&](std::vector<const Node*> nodes) {
    return CheckGrown(nodes, {relu}, kForward).reason();
  };
  EXPECT_EQ(reason({relu}), "");
  EXPECT_EQ(reason({relu, Find(graph, "Conv")}), "it is not taken");
  EXPECT_EQ(reason({relu, Find(graph, "Exp")}), "its nodes do not hang together");
}

TEST(IsPointwiseTest, NeedsARowAndAReferenceThatTakesTheNode) {
  const Graph graph =
      GraphFromText("g (float[2] x, float[2,2] m) => (y, z) { y = Relu(x) z = MatMul(m, m) }");
  EXPECT_TRUE(IsPointwise(*Find(graph, "Relu")));
  EXPECT_FALSE(IsPointwise(*Find(graph, "MatMul")));
}

}  // namespace
}  // namespace onnx_cudnn
