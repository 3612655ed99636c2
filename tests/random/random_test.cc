// Random graphs give the same results after rewriting, partitioning and scheduling.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/graph/print.h"
#include "runtime/graph/verify.h"
#include "runtime/ops/evaluate.h"
#include "tests/random/compare.h"
#include "tests/random/executions.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kMostShrunkNodes = 5;

// 300, or the number in ONNX_CUDNN_RANDOM_SEEDS (for the long run).
int Seeds() {
  const char* asked = std::getenv("ONNX_CUDNN_RANDOM_SEEDS");
  int seeds = 300;
  if (asked != nullptr && !absl::SimpleAtoi(asked, &seeds)) seeds = 0;
  return seeds;
}

const std::vector<RandomCase>& Cases(DType lowest = DType::kF32) {
  static auto& cases = *new std::map<DType, std::vector<RandomCase>>;
  std::vector<RandomCase>& made = cases[lowest];
  for (int seed = static_cast<int>(made.size()); seed < Seeds(); ++seed) {
    made.push_back(MakeRandomCase(seed, lowest));
  }
  return made;
}

// A case with wrong results, and the data needed to find the cause.
struct Finding {
  RandomCase smallest;
  std::string text;
};

Finding Explain(int seed, const Execution& execution) {
  const auto fails = [&](const RandomCase& c) {
    return !DifferenceOf(c, execution.run(c)).empty();
  };
  Finding found{.smallest = Shrink(MakeRandomCase(seed, execution.lowest), fails)};
  found.text = absl::StrCat("seed ", seed, ", ", execution.name, ": ",
                            DifferenceOf(found.smallest, execution.run(found.smallest)), "\n",
                            Print(found.smallest.graph));
  return found;
}

// The first case with wrong results under `execution`. `acted` counts the cases that it changed.
std::optional<Finding> FirstFinding(const Execution& execution, int& acted) {
  for (int seed = 0; seed < Seeds(); ++seed) {
    const RandomCase& c = Cases(execution.lowest)[seed];
    const absl::StatusOr<Answer> answer = execution.run(c);
    if (!DifferenceOf(c, answer).empty()) return Explain(seed, execution);
    acted += answer->acted;
  }
  return std::nullopt;
}

TEST(RandomCaseTest, IsVerifiedAndEvaluatesToItsTensors) {
  ASSERT_GE(Cases().size(), 300u);
  for (const RandomCase& c : Cases()) {
    ASSERT_TRUE(Verify(c.graph).ok()) << Verify(c.graph) << Print(c.graph);
    ASSERT_EQ(DifferenceOf(c, Answer{.outputs = *Evaluate(c.graph, c.Inputs())}), "");
  }
}

TEST(RandomCaseTest, IsTheSameForEqualSeeds) {
  EXPECT_EQ(Print(MakeRandomCase(7).graph), Print(MakeRandomCase(7).graph));
  EXPECT_NE(Print(MakeRandomCase(7).graph), Print(MakeRandomCase(8).graph));
}

TEST(RandomCaseTest, HasManyOpsAndSharedValues) {
  std::set<std::string> ops;
  int shared = 0, outputs = 0;
  for (const RandomCase& c : Cases()) {
    outputs += c.graph.outputs().size() > 1;
    for (const Node* node : c.graph.TopologicalOrder()) ops.insert(node->op());
    for (const Value* v : c.graph.Values()) shared += v->uses().size() > 1;
  }
  EXPECT_GE(ops.size(), 100u);
  EXPECT_GE(shared, Seeds());
  EXPECT_GE(outputs, Seeds() / 2);
}

// A planted bug: replaces Nodes by their first input.
class DropPass : public NodePass {
 public:
  std::string_view name() const override { return "drop"; }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    if (node.output(0).uses().empty()) return Match::None();
    graph.ReplaceAllUses(node.output(0), node.input(0));
    return Match::Changed();
  }
};

class DropReluPass final : public DropPass {
 public:
  bool StartsAt(const Node& node) const override { return node.op() == "Relu"; }
};

// Drops the addend of a Conv.
class DropResidualPass final : public DropPass {
 public:
  bool StartsAt(const Node& node) const override {
    if (node.op() != "Add" || node.output(0).type() != node.input(0).type()) return false;
    const Node* conv = node.input(0).producer();
    return conv != nullptr && conv->op() == "Conv";
  }
};

template <typename Wrong>
Execution Planted() {
  return ByPasses("planted", [] {
    std::vector<std::unique_ptr<Pass>> passes;
    passes.push_back(std::make_unique<Wrong>());
    return passes;
  });
}

template <typename Wrong>
void ExpectFoundAndShrunk(std::set<std::string> ops) {
  int acted = 0;
  const std::optional<Finding> found = FirstFinding(Planted<Wrong>(), acted);
  ASSERT_TRUE(found.has_value());
  const std::vector<Node*> nodes = found->smallest.graph.TopologicalOrder();
  EXPECT_LE(nodes.size(), kMostShrunkNodes) << found->text;
  for (const Node* node : nodes) ops.erase(node->op());
  EXPECT_TRUE(ops.empty()) << found->text;
  EXPECT_NE(found->text.find("seed "), std::string::npos);
}

TEST(ShrinkTest, FindsADroppedRelu) { ExpectFoundAndShrunk<DropReluPass>({"Relu"}); }

TEST(ShrinkTest, KeepsTheNodesThatAWrongRewriteNeeds) {
  ExpectFoundAndShrunk<DropResidualPass>({"Conv", "Add"});
}

class RandomGraphTest : public testing::TestWithParam<Execution> {};

TEST_P(RandomGraphTest, KeepsItsMeaning) {
  int acted = 0;
  const std::optional<Finding> found = FirstFinding(GetParam(), acted);
  EXPECT_FALSE(found.has_value()) << found->text;
  EXPECT_GT(acted, 0) << "no random graph has what " << GetParam().name << " looks for";
}

std::string NameOf(const testing::TestParamInfo<Execution>& info) {
  return absl::StrReplaceAll(info.param.name, {{"-", "_"}});
}
INSTANTIATE_TEST_SUITE_P(By, RandomGraphTest, testing::ValuesIn(AllExecutions()), NameOf);

}  // namespace

void PrintTo(const Execution& execution, std::ostream* out) { *out << execution.name; }

}  // namespace onnx_cudnn
