// Greedy, Confirm and MaterializeFormats, over test Engines.
#include <chrono>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "passes/partition/partition_order.h"
#include "passes/partition/partitioners.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "tests/support/fake_pricer.h"
#include "tests/support/graph_text.h"
#include "tests/support/late_engine.h"
#include "tests/support/rewrite.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

// Two residual blocks: Conv, Add, Relu.
Graph Residual() {
  return GraphFromText(R"(
      g (float[1,4,3,3] x) => (float[1,4,3,3] y) <float[4,4,1,1] w = {1,0,0,1, 0,1,0,0, 2,0,1,0, 0,0,0,1}, float[4,4,1,1] v = {0,0,0,1, 0,1,1,0, 2,0,1,0, 3,0,0,1}>
      { a = Conv(x, w)
        b = Add(a, x)
        c = Relu(b)
        d = Conv(c, v)
        e = Add(d, c)
        y = Relu(e) })");
}

// {a, c} and {b, d} read each other.
Graph Crossed() {
  return GraphFromText(R"(
      g (float[2] x) => (float[2] c, float[2] d)
      { a = Relu(x)
        b = Neg(x)
        c = Add(a, b)
        d = Sub(b, a) })");
}

// `count` Relus in a row.
Graph Chain(int count) {
  Graph graph;
  Value* v = &graph.AddInput("x", Type::Tensor(DType::kF32, {2}));
  for (int i = 0; i < count; ++i) {
    Node& node = graph.AddNode({.op = "Relu", .inputs = {v}});
    graph.SetType(node.output(0), v->type());
    v = &node.output(0);
  }
  graph.AddOutput("y", *v);
  return graph;
}

std::vector<size_t> Sizes(const std::vector<Partition>& partitions) {
  std::vector<size_t> sizes;
  for (const Partition& p : partitions) sizes.push_back(p.chosen.nodes.size());
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

class PartitionTest : public ::testing::Test {
 protected:
  const std::unique_ptr<Engine> host_ = MakeHostEngine(Space::kDevice);
  const std::unique_ptr<Engine> view_ = MakeViewEngine();
  const TestEngine fused_{
      {.name = "fused", .ops = {"Conv", "Add", "Relu"}, .most_nodes = 3, .channels_last = true}};
};

TEST_F(PartitionTest, TakesTheLargestProposal) {
  const auto program = ExpectRunsLikeEvaluate(Residual(), {}, TargetOf({&fused_, host_.get()}));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(Partitions(*program),
            "host {Reformat} stream 0\n"
            "fused {Conv Add Relu} stream 0\n"
            "fused {Conv Add Relu} stream 0\n"
            "host {Reformat} stream 0");
}

TEST_F(PartitionTest,
       StartsAtAnchors) {  // in topological order alone, the Conv would join the first Relu
  const TestEngine pairs({.name = "pairs", .ops = {"Conv", "Relu"}, .most_nodes = 2});
  const Graph graph = GraphFromText(R"(
      g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2,2,1,1] w = {1,2,3,4}>
      { a = Relu(x)
        b = Conv(a, w)
        y = Relu(b) })");
  const auto program = ExpectRunsLikeEvaluate(graph, {}, TargetOf({&pairs, host_.get()}));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(Partitions(*program),
            "pairs {Relu} stream 0\n"
            "pairs {Conv Relu} stream 0");
}

TEST_F(PartitionTest, ReformatsOnceForSeveralReaders) {  // x feeds the Conv and the Add of one
                                                         // Partition, and a second Conv
  const Graph graph = GraphFromText(R"(
      g (float[1,2,2,2] x) => (float[1,2,2,2] y, float[1,2,2,2] z) <float[2,2,1,1] w = {1,2,3,4}>
      { a = Conv(x, w) b = Add(a, x) y = Relu(b)
        d = Conv(x, w) e = Add(d, x) z = Relu(e) })");
  const auto program = ExpectRunsLikeEvaluate(graph, {}, TargetOf({&fused_, host_.get()}));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->graph.inputs()[0]->uses().size(), 1u) << PrintOnOneLine(program->graph);
}

TEST_F(PartitionTest, TakesSingleNodesWithoutFusion) {
  const auto program = ExpectRunsLikeEvaluate(Residual(), {}, TargetOf({host_.get()}));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->partitions.size(), 6u);
}

TEST_F(PartitionTest,
       FollowsChannelsLastThroughOpsThatTakeBoth) {  // the Sigmoid stays between Convs as they are
  const TestEngine last({.name = "last", .ops = {"Conv", "Sigmoid"}, .channels_last = true});
  const TestEngine rows({.name = "rows", .ops = {"Sigmoid"}});
  const Graph graph = GraphFromText(R"(
      g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2,2,1,1] w = {1,2,3,4}>
      { a = Conv(x, w)
        b = Sigmoid(a)
        c = Sigmoid(b)
        y = Conv(c, w) })");
  const auto program = ExpectRunsLikeEvaluate(graph, {}, TargetOf({&rows, &last, host_.get()}));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(Partitions(*program),
            "host {Reformat} stream 0\n"
            "last {Conv} stream 0\n"
            "last {Sigmoid} stream 0\n"
            "last {Sigmoid} stream 0\n"
            "last {Conv} stream 0\n"
            "host {Reformat} stream 0");
}

TEST_F(PartitionTest, PrefersTheCheaperOfEqualSize) {
  const TestEngine costly({.name = "costly", .us = 9}), cheap({.name = "cheap", .us = 2});
  const auto partitions = PartitionGraph(Chain(1), TargetOf({&costly, &cheap}), Greedy, nullptr);
  ASSERT_TRUE(partitions.ok());
  EXPECT_EQ((*partitions)[0].chosen.engine, &cheap);
}

// Such prices are guesses, but what `host` takes in a GPU's place is known.
TEST_F(PartitionTest, TakesWhatIsBeyondItsFitWhereOnlyTheHostRunsANode) {
  const TestEngine beyond({.name = "beyond", .most_nodes = 2, .us = 0, .beyond_fit = true});
  const TestEngine fits({.name = "fits", .us = 9}), none({.name = "none", .ops = {"Conv"}});
  const auto chosen = [&](std::vector<const Engine*> engines) {
    const auto partitions = PartitionGraph(Chain(2), TargetOf(std::move(engines)), Greedy, nullptr);
    EXPECT_TRUE(partitions.ok()) << partitions.status();
    std::vector<std::string_view> names;
    for (const Partition& p : *partitions) names.push_back(p.chosen.engine->name());
    return names;
  };
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(chosen({&beyond, &none, host_.get()}), (Names{"beyond", "beyond"}));
  EXPECT_EQ(chosen({&beyond, &fits}), (Names{"fits", "fits"}));
}

TEST_F(PartitionTest, NamesANodeWithoutAnEngineWithEveryReason) {
  const TestEngine convs({.name = "convs", .ops = {"Conv"}});
  const auto partitions =
      PartitionGraph(Chain(1), TargetOf({&convs, view_.get()}), Greedy, nullptr);
  EXPECT_EQ(partitions.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(partitions.status().message(),
            "node (Relu): no engine runs it: convs: not one of its ops; "
            "view: its output is a graph output");
}

TEST_F(PartitionTest, SearchesAgainWhatWasRefused) {
  for (const size_t most : {99, 2, 1}) {
    const TestEngine picky({.name = "picky",
                            .ops = {"Conv", "Add", "Relu"},
                            .most_nodes = 3,
                            .channels_last = true,
                            .compiles_at_most = most});
    const auto program = ExpectRunsLikeEvaluate(Residual(), {}, TargetOf({&picky, host_.get()}));
    ASSERT_NE(program, nullptr) << most;
    for (const Partition& p : program->partitions) EXPECT_LE(p.chosen.nodes.size(), most);
  }
}

TEST_F(PartitionTest, FallsBackToHostWhenAllIsRefused) {
  const TestEngine never(
      {.name = "never", .most_nodes = 3, .channels_last = true, .compiles_at_most = 0});
  std::vector<Remark> remarks;
  const Graph graph = Residual();
  const auto partitions = PartitionGraph(graph, TargetOf({&never, host_.get()}), Greedy, &remarks);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  for (const Partition& p : *partitions) EXPECT_EQ(p.chosen.engine, host_.get());
  const auto says = [](const Remark& r) { return r.reason == "more than 0 nodes"; };
  EXPECT_TRUE(std::any_of(remarks.begin(), remarks.end(), says));
  EXPECT_NE(ExpectRunsLikeEvaluate(graph, {}, TargetOf({&never, host_.get()})), nullptr);
}

TEST_F(PartitionTest, TriesEveryVariantBeforeARefusalCounts) {
  const LateEngine engine("late", {{.refused = true}, {.refused = true}, {}});
  const auto partitions = PartitionGraph(Chain(1), TargetOf({&engine}), Greedy, nullptr);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ((*partitions)[0].variant.text, "2");
  EXPECT_EQ(engine.compiled, 3);
}

TEST_F(PartitionTest, CompilesEqualSignaturesOnce) {
  const TestEngine engine({});
  const auto partitions = PartitionGraph(Chain(50), TargetOf({&engine}), Greedy, nullptr);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ(engine.compiled(), 1);
  for (const Partition& p : *partitions) EXPECT_EQ(p.step, (*partitions)[0].step);
}

// Two Relus that `pairs` can run as one; that is predicted to be cheaper.
class MeasuredPartitionTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<Partition>> Run(Partitioner partitioner, Pricer& pricer) const {
    return PartitionGraph(graph_, target_, partitioner, nullptr, {.pricer = &pricer});
  }
  static double PairsAreDear(const Candidate& candidate) {
    return candidate.nodes.size() == 2 ? 10 : 2;
  }

  const Graph graph_ = Chain(2);
  const TestEngine pairs_{{.name = "pairs", .most_nodes = 2, .us = 3}};
  const TestEngine alone_{{.name = "alone", .us = 4}};
  const Target target_ = TargetOf({&pairs_, &alone_});
};

TEST_F(MeasuredPartitionTest, MeasuredPricesChangeTheCover) {
  FakePricer pricer(target_, PairsAreDear);
  const auto partitions = Run(CostSearch, pricer);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ(Sizes(*partitions), (std::vector<size_t>{1, 1}));
  for (const Partition& p : *partitions) {
    EXPECT_EQ(p.chosen.cost.us, 2);
    EXPECT_STREQ(p.chosen.cost.from, kMeasured);
    EXPECT_EQ(p.variant.text, "fastest");
  }
}

TEST_F(MeasuredPartitionTest, GreedyTakesTheLargestAllTheSame) {
  FakePricer pricer(target_, PairsAreDear);
  const auto partitions = Run(Greedy, pricer);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  ASSERT_EQ(Sizes(*partitions), (std::vector<size_t>{2}));
  EXPECT_EQ((*partitions)[0].variant.text, "fastest");
  EXPECT_EQ((*partitions)[0].chosen.cost.us, 10);
  EXPECT_EQ(pricer.measured(), 1);
}

TEST_F(MeasuredPartitionTest, WithoutBudgetAllIsAsPredicted) {
  FakePricer pricer(target_, PairsAreDear, /*budget=*/0);
  const auto partitions = Run(CostSearch, pricer);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  ASSERT_EQ(Sizes(*partitions), (std::vector<size_t>{2}));
  EXPECT_EQ((*partitions)[0].variant.text, "");
  EXPECT_EQ((*partitions)[0].chosen.cost.us, 3);
}

TEST_F(MeasuredPartitionTest, WhatWasMeasuredIsKeptWhenTheBudgetEnds) {  // after Greedy's pair
  FakePricer pricer(target_, PairsAreDear, /*budget=*/1);
  const auto partitions = Run(CostSearch, pricer);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  ASSERT_EQ(Sizes(*partitions), (std::vector<size_t>{2}));
  EXPECT_EQ((*partitions)[0].variant.text, "fastest");
}

// 13 µs are measured for the first cover of single Nodes, then 2 µs for one of `b`, then no more.
TEST_F(MeasuredPartitionTest, CombinesWhatWasMeasuredWhenTheBudgetEnds) {
  const Graph graph = GraphFromText(R"(
      g (float[2] x) => (float[2] y)
      { h = Relu(x)
        y = Neg(h) })");
  const TestEngine pairs({.name = "pairs", .most_nodes = 2, .us = 9});
  const TestEngine a({.name = "a", .us = 1}), b({.name = "b", .us = 2});
  const Target target = TargetOf({&pairs, &a, &b});
  const auto us = [](const Candidate& c) -> double {
    if (c.nodes.size() == 2) return 10;
    if (c.engine->name() == "b") return 2;
    return c.nodes[0]->op() == "Relu" ? 8 : 5;
  };
  FakePricer pricer(target, us, /*budget=*/4);
  const auto partitions = PartitionGraph(graph, target, CostSearch, nullptr, {.pricer = &pricer});
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  ASSERT_EQ(Sizes(*partitions), (std::vector<size_t>{1, 1}));
  EXPECT_EQ((*partitions)[0].chosen.engine, &b);
  EXPECT_EQ((*partitions)[0].chosen.cost.us, 2);
  EXPECT_EQ((*partitions)[1].chosen.engine, &a);
  EXPECT_EQ((*partitions)[1].chosen.cost.us, 5);
  EXPECT_EQ(pricer.compiled(), 4);  // nothing that is not measured
}

// Every Node alone, in the last Engine.
absl::StatusOr<std::vector<Candidate>> EachAlone(const Stretch& stretch) {
  std::vector<Candidate> cover;
  for (const Node* node : stretch.nodes) {
    cover.push_back(
        RowMajorCandidate(*stretch.target.engines.back(), *node, Space::kDevice, stretch.target));
  }
  return cover;
}

TEST_F(MeasuredPartitionTest, ASlowerCoverThatIsMeasuredLaterIsNotTaken) {  // 3 µs, then 4 + 4
  FakePricer pricer(target_, [](const Candidate& c) { return c.nodes.size() == 2 ? 3 : 4; });
  const auto partitions = Run(EachAlone, pricer);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ(Sizes(*partitions), (std::vector<size_t>{2}));
  EXPECT_EQ(pricer.measured(), 2);
}

TEST_F(MeasuredPartitionTest, SearchesAgainWhatWasRefused) {
  const TestEngine picky({.name = "picky", .most_nodes = 2, .compiles_at_most = 1});
  const Target target = TargetOf({&picky});
  FakePricer pricer(target, PairsAreDear);
  std::vector<Remark> remarks;
  Refusals refused;
  const auto partitions = PartitionGraph(graph_, target, CostSearch, &remarks,
                                         {.refused = &refused, .pricer = &pricer});
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ(Sizes(*partitions), (std::vector<size_t>{1, 1}));
  EXPECT_EQ(refused.size(), 1u);
  const auto says = [](const Remark& r) { return r.reason == "more than 1 nodes"; };
  EXPECT_TRUE(std::any_of(remarks.begin(), remarks.end(), says));
}

TEST_F(PartitionTest, BreaksACycleBetweenPartitions) {  // {a, c} waits for b, {b, d} for a
  const TestEngine pairs({.name = "pairs", .most_nodes = 2});
  const Graph graph = Crossed();
  std::vector<Remark> remarks;
  const auto partitions = PartitionGraph(graph, TargetOf({&pairs}), Greedy, &remarks);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ(Sizes(*partitions), (std::vector<size_t>{1, 1, 2}));
  const auto says = [](const Remark& r) {
    return r.reason == "it closes a cycle between partitions";
  };
  EXPECT_TRUE(std::any_of(remarks.begin(), remarks.end(), says));
  EXPECT_NE(ExpectRunsLikeEvaluate(graph, {}, TargetOf({&pairs})), nullptr);
}

TEST_F(PartitionTest,
       LeavesOutProposalsThatAPathLeavesAndReenters) {  // a → c skips b, which c needs
  const TestEngine pairs({.name = "pairs", .ops = {"Relu", "Add"}, .most_nodes = 2});
  const Graph graph = GraphFromText(R"(
      g (float[2] x) => (float[2] c)
      { a = Relu(x)
        b = Neg(a)
        c = Add(a, b) })");
  const auto partitions = PartitionGraph(graph, TargetOf({&pairs, host_.get()}), Greedy, nullptr);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ(Sizes(*partitions), (std::vector<size_t>{1, 1, 1}));
}

TEST_F(PartitionTest,
       CrossesToHostMemoryByTransfers) {  // x lies on the device, the Neg runs in host memory
  const TestEngine device({.name = "device", .ops = {"Relu"}});
  const TestEngine beside({.name = "beside", .ops = {"Neg"}, .space = Space::kHost});
  const Graph graph = GraphFromText(
      "g (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) c = Neg(b) y = Relu(c) }");
  const auto program = ExpectRunsLikeEvaluate(graph, {}, TargetOf({&device, &beside, host_.get()}));
  ASSERT_NE(program, nullptr);
}

TEST_F(PartitionTest, IsTheSameInEveryRun) {
  std::set<std::string> seen;
  for (int run = 0; run < 3; ++run) {
    const std::vector<std::unique_ptr<int>> noise(run * 1000);  // other addresses
    const Graph graph = Residual();
    const auto program = BuildProgram(graph, {}, TargetOf({&fused_, host_.get()}), {.streams = 2});
    ASSERT_TRUE(program.ok());
    seen.insert(absl::StrCat(PrintOnOneLine((*program)->graph), Partitions(**program),
                             (*program)->memory.arena_bytes));
  }
  EXPECT_EQ(seen.size(), 1u) << *seen.begin() << "\n" << *seen.rbegin();
}

TEST_F(PartitionTest, IsNearLinear) {
  const Graph graph = Chain(20000);
  const auto start = std::chrono::steady_clock::now();
  const auto program = BuildProgram(graph, {}, TargetOf({view_.get(), host_.get()}), {});
  EXPECT_TRUE(program.ok()) << program.status();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(OrderPartitionsTest, FindsACycle) {
  const Graph graph = Crossed();
  const std::vector<Node*> n = graph.TopologicalOrder();
  const Candidate first{.nodes = {n[0], n[2]}}, second{.nodes = {n[1], n[3]}};
  const PartitionOrder found = OrderPartitions(std::vector<const Candidate*>{&first, &second});
  EXPECT_EQ(found.cycle.size(), 2u);
  EXPECT_TRUE(found.order.empty());
}

}  // namespace
}  // namespace onnx_cudnn
