// The cost search against brute force, greedy and its own bounds on states, over test Engines.
#include "passes/partition/cost_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/partition/proposals.h"
#include "runtime/exec/host_engine.h"
#include "tests/support/fake_pricer.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"
#include "tests/support/whole_stretch.h"

namespace onnx_cudnn {
namespace {

const Type kType = Type::Tensor(DType::kF32, {1, 2, 2, 2});

Value& Add(Graph& graph, std::string op, std::vector<Value*> inputs) {
  Node& node = graph.AddNode({.op = std::move(op), .inputs = std::move(inputs)});
  graph.SetType(node.output(0), kType);
  return node.output(0);
}

Graph RandomGraph(std::mt19937& random, int nodes) {
  Graph graph;
  std::vector<Value*> values = {&graph.AddInput("x", kType), &graph.AddInput("z", kType)};
  const auto any = [&] { return values[random() % values.size()]; };
  for (int i = 0; i < nodes; ++i) {
    const bool binary = random() % 2 == 0;
    Value* recent = values[values.size() - 1 - random() % std::min<size_t>(3, values.size())];
    values.push_back(&(binary ? Add(graph, "Add", {recent, any()}) : Add(graph, "Relu", {recent})));
  }
  for (Value* v : values) {
    if (v->producer() != nullptr && (v->uses().empty() || random() % 8 == 0)) {
      graph.AddOutput(v->name(), *v);
    }
  }
  return graph;
}

// Tries every cover, Node by Node. Prunes covers that cost more than the best one, counting for
// each remaining Node the least share that it can have of a Candidate.
class BruteForce {
 public:
  explicit BruteForce(const Stretch& stretch) : stretch_(stretch), proposals_(stretch) {
    for (const std::vector<Proposal>& at : proposals_.at()) {
      for (const Proposal& p : at) {
        const double share = p.candidate.cost.us / static_cast<double>(p.candidate.nodes.size());
        for (const Node* n : p.candidate.nodes) {
          auto [it, added] = least_.try_emplace(n, share);
          it->second = std::min(it->second, share);
        }
      }
    }
    for (const auto& [node, share] : least_) us_ += share;
  }
  double Us() {
    Cover(0);
    return best_;
  }

 private:
  void Cover(size_t node) {
    while (node < stretch_.nodes.size() && taken_.contains(stretch_.nodes[node])) ++node;
    if (node == stretch_.nodes.size()) {
      best_ = std::min(best_, CoverUs(stretch_, chosen_));
      return;
    }
    for (const std::vector<Proposal>& at : proposals_.at()) {
      for (const Proposal& p : at) {
        if (Has(p, stretch_.nodes[node]) && IsFree(p)) Choose(p, node);
      }
    }
  }
  void Choose(const Proposal& p, size_t node) {
    double us = p.candidate.cost.us;
    for (const Node* n : p.candidate.nodes) us -= least_.at(n);
    if (us_ + us >= best_ + 1e-9) return;
    taken_.insert(p.candidate.nodes.begin(), p.candidate.nodes.end());
    chosen_.push_back(p.candidate);
    us_ += us;
    Cover(node);
    us_ -= us;
    chosen_.pop_back();
    for (const Node* n : p.candidate.nodes) taken_.erase(n);
  }
  static bool Has(const Proposal& p, const Node* node) {
    return std::find(p.candidate.nodes.begin(), p.candidate.nodes.end(), node) !=
           p.candidate.nodes.end();
  }
  bool IsFree(const Proposal& p) const {
    return std::none_of(p.candidate.nodes.begin(), p.candidate.nodes.end(),
                        [&](const Node* n) { return taken_.contains(n); });
  }

  const Stretch& stretch_;
  const Proposals proposals_;
  std::set<const Node*> taken_;
  std::vector<Candidate> chosen_;
  std::map<const Node*, double> least_;
  double us_ = 0;  // of the Candidates, and the least of the Nodes left
  double best_ = 1e30;
};

// Three Engines with random prices: paths row-major, paths channels-last, single Nodes on the host;
// a
// Reformat costs about as much as a Node.
struct Engines {
  explicit Engines(std::mt19937& random)
      : plain({.name = "plain", .most_nodes = 2, .us = Draw(random), .us_more = Draw(random)}),
        last({.name = "last",
              .most_nodes = 3,
              .channels_last = true,
              .us = Draw(random),
              .us_more = Draw(random)}),
        host({.name = "host", .space = Space::kHost, .us = Draw(random)}) {
    target.engines = {&plain, &last, &host};
    target.info.launch_us = Draw(random);
    target.info.bytes_per_us = 100;
  }
  static double Draw(std::mt19937& random) { return 0.25 * static_cast<double>(1 + random() % 12); }

  TestEngine plain, last, host;
  Target target;
};

TEST(CostSearchTest, FindsWhatBruteForceFinds) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const Engines engines(random);
    // Few graphs are large: brute force takes exponential time.
    const Graph graph = RandomGraph(random, i == 0        ? 12
                                            : i % 50 == 0 ? 9
                                                          : 2 + static_cast<int>(random() % 5));
    const WholeStretch stretch(graph, engines.target);
    const auto found = SearchCheapestCover(*stretch);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->exact);
    ASSERT_NEAR(found->us, CoverUs(*stretch, found->cover), 1e-9) << "graph " << i;
    ASSERT_NEAR(found->us, BruteForce(*stretch).Us(), 1e-9) << "graph " << i;
  }
}

// The output must be row-major: the Candidate that writes it channels-last is cheaper by 1 µs but
// needs a Reformat, which takes at least the 3 µs of a launch.
TEST(CostSearchTest, KeepsACostlierCandidateThatWritesAnotherFormat) {
  const TestEngine rows({.name = "rows", .us = 2});
  const TestEngine last({.name = "last", .outputs_last = true, .us = 1});
  Target target = TargetOf({&rows, &last});
  target.info.launch_us = 3;
  Graph graph;
  graph.AddOutput("y", Add(graph, "Relu", {&graph.AddInput("x", kType)}));
  const WholeStretch stretch(graph, target);
  const auto found = SearchCheapestCover(*stretch);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->us, 2);
}

TEST(CostSearchTest, BeamIsNeverWorseThanGreedy) {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const Engines engines(random);
    const Graph graph = RandomGraph(random, 40);
    const WholeStretch stretch(graph, engines.target);
    const auto found =
        SearchCheapestCover(*stretch, {.states_per_node = 0, .least_states = 1, .beam = 2});
    const auto greedy = Greedy(*stretch);
    ASSERT_TRUE(found.ok() && greedy.ok());
    EXPECT_FALSE(found->exact);
    EXPECT_NEAR(found->us, CoverUs(*stretch, found->cover), 1e-9);
    EXPECT_LE(found->us, CoverUs(*stretch, *greedy) + 1e-9) << "graph " << i;
  }
}

TEST(CostSearchTest, EqualStretchesGiveEqualCovers) {
  std::mt19937 random(3);
  const Engines engines(random);
  const Graph graph = RandomGraph(random, 30);
  const WholeStretch stretch(graph, engines.target);
  const auto a = SearchCheapestCover(*stretch), b = SearchCheapestCover(*stretch);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a->cover.size(), b->cover.size());
  for (size_t i = 0; i < a->cover.size(); ++i) {
    EXPECT_EQ(a->cover[i].nodes, b->cover[i].nodes);
    EXPECT_EQ(a->cover[i].engine, b->cover[i].engine);
  }
}

// Expects that the search is exact with a number of states near-linear in the Nodes.
void ExpectNearLinear(const Graph& graph, const Target& target) {
  const WholeStretch stretch(graph, target);
  const auto found = SearchCheapestCover(*stretch);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->exact);
  EXPECT_LE(found->states, 64 * graph.node_count());
}

// Heads that share their inputs: a search over all sets of covered Nodes would grow exponentially.
TEST(CostSearchTest, ParallelHeadsStayNearLinear) {
  std::mt19937 random(4);
  const Engines engines(random);
  Graph graph;
  for (int head = 0; head < 10; ++head) {
    Value* v = &graph.AddInput("x", kType);
    for (int i = 0; i < 20; ++i) v = &Add(graph, "Relu", {v});
    graph.AddOutput(absl::StrCat("y", head), *v);
  }
  ExpectNearLinear(graph, engines.target);
}

TEST(CostSearchTest, ResidualLadderStaysNearLinear) {
  std::mt19937 random(5);
  const Engines engines(random);
  Graph graph;
  Value* v = &graph.AddInput("x", kType);
  for (int block = 0; block < 2500; ++block) {
    Value& a = Add(graph, "Relu", {v});
    Value& b = Add(graph, "Relu", {&a});
    v = &Add(graph, "Relu", {&Add(graph, "Add", {&b, v})});
  }
  graph.AddOutput("y", *v);
  ExpectNearLinear(graph, engines.target);
}

TEST(CostSearchTest, NamesANodeWithoutAnEngine) {
  TestEngine relu({.ops = {"Relu"}});
  Graph graph;
  graph.AddOutput("y", Add(graph, "Neg", {&Add(graph, "Relu", {&graph.AddInput("x", kType)})}));
  const Target target = TargetOf({&relu});
  const auto found = CostSearch(*WholeStretch(graph, target));
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(found.status().message().find("(Neg)"), std::string::npos) << found.status();
}

// The measured time of a signature, unrelated to predictions.
double UsOfSignature(const std::string& signature) {
  return 0.25 * static_cast<double>(1 + std::hash<std::string>()(signature) % 24);
}

// Has a price for everything from the start.
class AllKnowing final : public Pricer {
 public:
  std::optional<double> MeasuredUs(const std::string& signature) const override {
    return UsOfSignature(signature);
  }
  absl::StatusOr<std::vector<Choice>> Choose(absl::Span<const Candidate* const>) override {
    return absl::UnimplementedError("nobody asks");
  }
};

// The time of the cover that PartitionGraph chooses, at measured prices.
double MeasuredUs(const Graph& graph, const Target& target, Partitioner partitioner,
                  Pricer& pricer) {
  const auto partitions = PartitionGraph(graph, target, partitioner, nullptr, {.pricer = &pricer});
  EXPECT_TRUE(partitions.ok()) << partitions.status();
  std::vector<Candidate> cover;
  for (const Partition& p : *partitions) {
    EXPECT_STREQ(p.chosen.cost.from, kMeasured);
    cover.push_back(p.chosen);
  }
  return CoverUs(*WholeStretch(graph, target), cover);
}

TEST(CostSearchTest, MeasuredIsNeverWorseThanGreedyWhereverTheBudgetEnds) {
  std::mt19937 random(7);
  int better = 0;
  for (int i = 0; i < 100; ++i) {
    const Engines engines(random);
    const Target& target = engines.target;
    const Graph graph = RandomGraph(random, 12);
    const auto us = [&](const Candidate& c) { return UsOfSignature(Signature(c, target)); };
    FakePricer greedys(target, us);
    const double greedy_us = MeasuredUs(graph, target, Greedy, greedys);
    const int budget = greedys.measured() + static_cast<int>(random() % 8);
    FakePricer some(target, us, budget), all(target, us);
    EXPECT_LE(MeasuredUs(graph, target, CostSearch, some), greedy_us + 1e-9) << "graph " << i;
    const double all_us = MeasuredUs(graph, target, CostSearch, all);
    EXPECT_LE(all_us, greedy_us + 1e-9) << "graph " << i;
    if (all_us < greedy_us - 1e-9) ++better;
  }
  EXPECT_GT(better, 25);
}

// Every cover that might be faster is considered and measured. In a chain, Partitions cannot depend
// on each other in a cycle.
TEST(CostSearchTest, MeasuredIsTheCheapestOfAllWherePredictionsAreFloors) {
  std::mt19937 random(8);
  for (int i = 0; i < 50; ++i) {
    const TestEngine plain({.name = "plain", .most_nodes = 2, .us = 0});
    const TestEngine last({.name = "last", .most_nodes = 3, .channels_last = true, .us = 0});
    Target target = TargetOf({&plain, &last});
    target.info.launch_us = Engines::Draw(random);
    std::vector<std::string> ops = {"Relu", "Neg", "Abs", "Exp", "Tanh", "Floor", "Ceil", "Sign"};
    std::shuffle(ops.begin(), ops.end(), random);
    Graph graph;
    Value* v = &graph.AddInput("x", kType);
    for (const std::string& op : ops) v = &Add(graph, op, {v});
    graph.AddOutput("y", *v);
    FakePricer pricer(target,
                      [&](const Candidate& c) { return UsOfSignature(Signature(c, target)); });
    const AllKnowing prices;
    const WholeStretch whole(graph, target);
    Stretch known = *whole;
    known.prices = &prices;
    EXPECT_NEAR(MeasuredUs(graph, target, CostSearch, pricer), BruteForce(known).Us(), 1e-9);
  }
}

TEST(CostSearchTest, ProgramsRunLikeEvaluate) {
  std::mt19937 random(6);
  for (int i = 0; i < 20; ++i) {
    Engines engines(random);
    const std::unique_ptr<Engine> reformats = MakeHostEngine(Space::kDevice);
    engines.target.engines.push_back(reformats.get());
    ExpectRunsLikeEvaluate(RandomGraph(random, 12), {}, engines.target, CostSearch);
  }
}

}  // namespace
}  // namespace onnx_cudnn
