#include "passes/pass.h"

#include "gtest/gtest.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/verify.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// x, then `count` Nodes of `op` in a row.
Graph Chain(int count, const std::string& op) {
  Graph graph;
  graph.set_name("g");
  Value* v = &graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  for (int i = 0; i < count; ++i) {
    Node& node = graph.AddNode({.op = op, .inputs = {v}});
    graph.SetType(node.output(0), v->type());
    v = &node.output(0);
  }
  graph.AddOutput("y", *v);
  return graph;
}

// A → B, then B → C: one change enables the next.
class RenamePass final : public NodePass {
 public:
  std::string_view name() const override { return "rename"; }
  bool StartsAt(const Node&) const override { return true; }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    ++visits;
    const std::string next = node.op() == "A" ? "B" : node.op() == "B" ? "C" : "";
    if (next.empty()) return Match::No(node, "it is at the end");
    Node& other = graph.AddNode({.op = next, .inputs = {&node.input(0)}});
    graph.SetType(other.output(0), node.output(0).type());
    graph.ReplaceAllUses(node.output(0), other.output(0));
    return Match::Changed();
  }
  int visits = 0;
};

TEST(NodePassTest, VisitsWhatAChangeMade) {
  Graph graph = Chain(2, "A");
  PassContext context;
  EXPECT_TRUE(*RenamePass().Run(graph, context));
  EXPECT_EQ(PrintOnOneLine(graph), "g (f32[2] x) => (f32[2] y = c_2) { c = C(x) c_2 = C(c) }");
}

TEST(NodePassTest, KeepsTheLastAnswerOfEachNode) {
  Graph graph = Chain(2, "A");
  std::vector<Remark> remarks;
  PassContext context{.remarks = &remarks};
  EXPECT_TRUE(*RenamePass().Run(graph, context));
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_EQ(remarks[0].pass, "rename");
  EXPECT_EQ(remarks[0].where, "node (C)");
  EXPECT_EQ(remarks[0].reason, "it is at the end");
}

class RestlessPass final : public NodePass {
 public:
  std::string_view name() const override { return "restless"; }
  bool StartsAt(const Node&) const override { return true; }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    ++visits;
    graph.SetAttr(node, "n", int64_t{visits});
    return Match::Changed();
  }
  int visits = 0;
};

TEST(NodePassTest, StopsAtTheLimitWithARemark) {
  Graph graph = Chain(1, "A");
  std::vector<Remark> remarks;
  PassContext context{.limits = {.visits_per_node = 5}, .remarks = &remarks};
  RestlessPass pass;
  EXPECT_TRUE(*pass.Run(graph, context));
  EXPECT_EQ(pass.visits, 5);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].reason, "stopped after 5 visits");
}

TEST(NodePassTest, IsNearLinear) {
  Graph graph = Chain(100000, "Identity");
  ExpectChangesFast(EliminateIdentity(), graph);
  EXPECT_EQ(graph.node_count(), 0);
}

TEST(NodePassTest, IsNearLinearAroundASharedValue) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  Node& root = graph.AddNode({.op = "Relu", .inputs = {&x}});
  graph.SetType(root.output(0), x.type());
  for (int i = 0; i < 50000; ++i) {
    Node& copy = graph.AddNode({.op = "Identity", .inputs = {&root.output(0)}});
    graph.SetType(copy.output(0), x.type());
    graph.AddNode({.op = "Neg", .inputs = {&copy.output(0)}});
  }
  ExpectChangesFast(EliminateIdentity(), graph);
}

class LyingPass final : public Pass {
 public:
  std::string_view name() const override { return "lying"; }
  absl::StatusOr<bool> Run(Graph& graph, PassContext&) override {
    graph.SetAttr(*graph.TopologicalOrder()[0], "n", int64_t{1});
    return false;
  }
};

template <typename... P>
std::vector<std::unique_ptr<Pass>> List(P... pass) {
  std::vector<std::unique_ptr<Pass>> passes;
  (passes.push_back(std::move(pass)), ...);
  return passes;
}

TEST(RunPassesTest, ReportsEachPass) {
  Graph graph = Chain(3, "Identity");
  PassContext context;
  std::vector<std::string> seen;
  const PassManagerOptions options{
      .after_pass = [&](const PassRun& run, const Graph&) { seen.push_back(run.name); }};
  const auto runs = RunPasses(graph, List(EliminateIdentity(), DeadCode()), options, context);
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_TRUE((*runs)[0].changed);
  EXPECT_EQ((*runs)[0].nodes_before, 3);
  EXPECT_EQ((*runs)[0].nodes_after, 0);
  EXPECT_GE((*runs)[0].ms, 0);
  EXPECT_FALSE((*runs)[1].changed);
  EXPECT_EQ(seen, (std::vector<std::string>{"eliminate-identity", "dead-code"}));
}

TEST(RunPassesTest, SkipsADisabledPass) {
  Graph graph = Chain(3, "Identity");
  PassContext context;
  const auto runs =
      RunPasses(graph, MakePipeline(2), {.disabled = {"eliminate-identity"}}, context);
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(graph.node_count(), 3);
}

TEST(RunPassesTest, RefusesAnUnknownName) {
  Graph graph = Chain(1, "Relu");
  PassContext context;
  const auto runs = RunPasses(graph, MakePipeline(1), {.disabled = {"fold-everything"}}, context);
  EXPECT_EQ(runs.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(runs.status().message().find("fold-everything"), std::string::npos);
  EXPECT_NE(runs.status().message().find("fold-constants"), std::string::npos);
}

TEST(RunPassesTest, CatchesAPassThatHidesItsChange) {
  Graph graph = Chain(1, "Relu");
  PassContext context;
  const auto runs = RunPasses(graph, List(std::make_unique<LyingPass>()),
                              {.verify = VerifyWhen::kAfterEachPass}, context);
  EXPECT_EQ(runs.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(runs.status().message(), "pass lying: it changed the graph and said that it did not");
}

// Adds an output with a name that is already in use.
class BreakingPass final : public Pass {
 public:
  std::string_view name() const override { return "breaking"; }
  absl::StatusOr<bool> Run(Graph& graph, PassContext&) override {
    Value& stray = graph.AddNode({.op = "Relu", .inputs = {graph.inputs()[0]}}).output(0);
    graph.AddOutput("y", stray);
    return true;
  }
};

TEST(RunPassesTest, VerifiesTheGraphAtLeastAtTheEnd) {
  for (const VerifyWhen when : {VerifyWhen::kAtTheEnd, VerifyWhen::kAfterEachPass}) {
    Graph graph = Chain(1, "Relu");
    PassContext context;
    const auto runs =
        RunPasses(graph, List(std::make_unique<BreakingPass>()), {.verify = when}, context);
    EXPECT_EQ(runs.status().code(), absl::StatusCode::kInternal) << runs.status();
  }
}

TEST(PipelinesTest, MakesPassesByName) {
  const auto passes = MakePasses(std::vector<std::string>{"fold-bias", "dead-code"});
  ASSERT_TRUE(passes.ok());
  EXPECT_EQ((*passes)[0]->name(), "fold-bias");
  EXPECT_EQ((*passes)[1]->name(), "dead-code");
}

TEST(PipelinesTest, RefusesAnUnknownName) {
  const auto passes = MakePasses(std::vector<std::string>{"nothing"});
  EXPECT_EQ(passes.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PipelinesTest, EveryNameIsThatOfItsPass) {
  const std::vector<std::string> names = PassNames();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  const auto passes = MakePasses(names);
  ASSERT_TRUE(passes.ok());
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ((*passes)[i]->name(), names[i]);
}

TEST(PipelinesTest, LevelTwoMovesArithmetic) {  // ((3x + 5) - 5) * 2 + 1
  Graph graph = GraphFromText(R"(
      g (float[1,1,4,4] x) => (float[1,1,4,4] y)
        <float[1,1,1,1] w = {3}, float[1,1,1,1] c = {5}, float[1] gamma = {4}, float[1] beta = {1}, float[1] mean = {5}, float[1] var = {4}>
      { s = Conv(x, w)
        t = Add(s, c)
        y = BatchNormalization<epsilon = 0.0>(t, gamma, beta, mean, var) })");
  PassContext context;
  ASSERT_TRUE(
      RunPasses(graph, MakePipeline(2), {.verify = VerifyWhen::kAfterEachPass}, context).ok());
  EXPECT_EQ(PrintOnOneLine(graph),
            "g (f32[1,1,4,4] x) => (f32[1,1,4,4] y = s) { s = Conv(x, {6}, {1}) }");
}

}  // namespace
}  // namespace onnx_cudnn
