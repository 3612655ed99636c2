#include "passes/partition/saved_cover.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "runtime/base/sha1.h"
#include "runtime/session/engines.h"
#include "tests/support/fake_pricer.h"
#include "tests/support/graph_text.h"
#include "tests/support/networks.h"
#include "tests/support/program_text.h"
#include "tests/support/proposed.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"
#include "tests/support/whole_stretch.h"

namespace onnx_cudnn {
namespace {

// Two Relus that `pairs` can run as one.
class SavedCoverTest : public ::testing::Test {
 protected:
  // µs of one Partition of one Node, and of one of two.
  using Prices = std::function<double(const Candidate&)>;
  static Prices PriceOf(double one, double two) {
    return [=](const Candidate& candidate) { return candidate.nodes.size() == 1 ? one : two; };
  }

  // The number of Partitions.
  int Count(Pricer& pricer, std::string_view cover) const {
    const auto partitions =
        PartitionGraph(graph_, target_, CostSearch, nullptr, {.pricer = &pricer, .cover = cover});
    EXPECT_TRUE(partitions.ok()) << partitions.status();
    return static_cast<int>(partitions->size());
  }

  // The text of the cover at these prices.
  std::string Saved(const Prices& prices) const {
    FakePricer pricer(target_, prices);
    const auto partitions =
        PartitionGraph(graph_, target_, CostSearch, nullptr, {.pricer = &pricer});
    EXPECT_TRUE(partitions.ok()) << partitions.status();
    return CoverToText(*partitions, target_);
  }

  const Graph graph_ = GraphFromText("g (float[2] x) => (float[2] y) { a = Relu(x) y = Relu(a) }");
  const TestEngine pairs_{{.name = "pairs", .most_nodes = 2, .us = 3}};
  const TestEngine alone_{{.name = "alone", .us = 4}};
  const Target target_ = TargetOf({&pairs_, &alone_});
};

TEST_F(SavedCoverTest, IsTakenWhateverItCosts) {
  const std::string two = Saved(PriceOf(2, 10)), one = Saved(PriceOf(9, 10));
  FakePricer pairs_are_cheap(target_, PriceOf(9, 10)), pairs_are_dear(target_, PriceOf(2, 10));
  EXPECT_EQ(Count(pairs_are_cheap, {}), 1);
  EXPECT_EQ(Count(pairs_are_cheap, two), 2);
  EXPECT_EQ(Count(pairs_are_dear, {}), 2);
  EXPECT_EQ(Count(pairs_are_dear, one), 1);
}

// A device of another name and with less memory, as a GPU is beside the target of its kind.
TEST_F(SavedCoverTest, ForAnyHostIsTakenOnAnother) {
  const auto partitions = PartitionGraph(graph_, target_, CostSearch, nullptr, {});
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  ASSERT_EQ(partitions->size(), 1u);
  Target other = target_;
  other.info.name = "other";
  other.max_bytes = 1 << 20;
  const WholeStretch there(graph_, other);
  EXPECT_FALSE(CoverFromText(CoverToText(*partitions, target_), *there).has_value());
  const std::string text = CoverForAnyHost(*partitions, target_);
  const auto found = CoverFromText(text, *there);
  ASSERT_TRUE(found.has_value()) << text;
  EXPECT_EQ((*found)[0].nodes, (*partitions)[0].chosen.nodes);
  const WholeStretch here(graph_, target_);
  EXPECT_TRUE(CoverFromText(text, *here).has_value());
  EXPECT_FALSE(CoverFromText(absl::StrReplaceAll(text, {{"*", "*0"}}), *here).has_value());
}

TEST_F(SavedCoverTest, NothingElseIsMeasured) {
  FakePricer pricer(target_, PriceOf(2, 10));
  const auto partitions = PartitionGraph(graph_, target_, CostSearch, nullptr,
                                         {.pricer = &pricer, .cover = Saved(PriceOf(9, 10))});
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ(pricer.measured(), 1);
  EXPECT_EQ((*partitions)[0].variant.text, "fastest");
  EXPECT_EQ((*partitions)[0].chosen.cost.us, 10);
}

TEST_F(SavedCoverTest, WhatDoesNotFitIsSearchedAgain) {
  const std::string pair = Saved(PriceOf(9, 10));
  ASSERT_EQ(pair.rfind("pairs ", 0), 0u) << pair;
  const std::string ids = pair.substr(pair.find(' ', 6) + 1);
  for (const std::string& text :
       {std::string("\n"), std::string("pairs"), pair + pair, std::string("pairs 0 ") + ids,
        absl::StrReplaceAll(pair, {{"pairs", "others"}}), pair.substr(0, pair.size() - 3),
        absl::StrCat(pair.substr(0, pair.size() - 1), " 99\n"),
        absl::StrCat(pair.substr(0, pair.size() - 1), " x\n")}) {
    FakePricer pricer(target_, PriceOf(2, 10));
    EXPECT_EQ(Count(pricer, text), 2) << text;
  }
}

TEST_F(SavedCoverTest, WhatIsRefusedIsSearchedAgain) {
  const std::string pair = Saved(PriceOf(9, 10));
  const TestEngine picky({.name = "pairs", .most_nodes = 2, .us = 3, .compiles_at_most = 1});
  const Target target = TargetOf({&picky, &alone_});
  FakePricer pricer(target, PriceOf(9, 10));
  const auto partitions =
      PartitionGraph(graph_, target, CostSearch, nullptr, {.pricer = &pricer, .cover = pair});
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ(partitions->size(), 2u);
}

TEST(SavedCoversTest, APartOrACycleIsNoCover) {  // {a, c} and {b, d} read each other
  const Graph crossed = GraphFromText(R"(
      g (float[2] x) => (float[2] c, float[2] d)
      { a = Relu(x)
        b = Neg(x)
        c = Add(a, b)
        d = Sub(b, a) })");
  const TestEngine any({.name = "any", .most_nodes = 2});
  const Target target = TargetOf({&any});
  std::vector<const Node*> nodes;
  for (const Node* node : crossed.TopologicalOrder()) nodes.push_back(node);
  const Refusals none;
  const Stretch stretch{.graph = crossed, .target = target, .nodes = nodes, .refused = none};
  // Whether a cover of Partitions of these ops fits.
  const auto fits = [&](const std::vector<std::string>& cover) {
    std::vector<Partition> partitions;
    for (const std::string& ops : cover) {
      for (const Node* node : nodes) {
        for (Candidate& candidate : ProposedBy(any, crossed, *node, target).candidates) {
          if (OpsOf(candidate) == ops) partitions.push_back({.chosen = std::move(candidate)});
        }
      }
    }
    EXPECT_EQ(partitions.size(), cover.size());
    return CoverFromText(CoverToText(partitions, target), stretch).has_value();
  };
  EXPECT_TRUE(fits({"{Relu Add}", "{Neg}", "{Sub}"}));
  EXPECT_FALSE(fits({"{Relu Add}", "{Neg Sub}"}));
  EXPECT_FALSE(fits({"{Relu Add}", "{Neg}"}));
}

// The remarks that a search left: an Engine's, and the search's own.
int CountOfSearch(const std::vector<Remark>& remarks, const Target& target) {
  const auto is_of_search = [&](const Remark& remark) {
    return remark.pass == "cost-search" ||
           std::any_of(target.engines.begin(), target.engines.end(),
                       [&](const Engine* engine) { return engine->name() == remark.pass; });
  };
  return static_cast<int>(std::count_if(remarks.begin(), remarks.end(), is_of_search));
}

// {Signature: times of the Candidates that have it}
std::map<std::string, std::vector<double>> Prices(const std::vector<Candidate>& cover,
                                                  const Target& target) {
  std::map<std::string, std::vector<double>> prices;
  for (const Candidate& c : cover) prices[Signature(c, target)].push_back(c.cost.us);
  for (auto& [signature, times] : prices) std::sort(times.begin(), times.end());
  return prices;
}

TEST(SavedCoversOfNetworksTest, GiveTheSameProgram) {
  const OwnedTarget target = *MakeTarget("h200");
  for (const Graph& graph : {ResNet50(), DenseNet(), Transformer({.layers = 2})}) {
    for (const Partitioner partitioner : {Partitioner(Greedy), Partitioner(CostSearch)}) {
      std::vector<Candidate> searched, taken;
      std::vector<Remark> of_search, of_cover;
      BuildOptions options{.partitioner = partitioner, .saves_cover = true, .remarks = &of_search};
      const auto keep = [](std::vector<Candidate>& to) {
        return [&](const Graph&, absl::Span<const Partition> partitions, const Refusals&) {
          for (const Partition& p : partitions) to.push_back(p.chosen);
        };
      };
      options.on_partitions = keep(searched);
      const auto program = BuildProgram(graph, {}, target.target, options);
      ASSERT_TRUE(program.ok()) << program.status();
      EXPECT_GT(CountOfSearch(of_search, target.target), 0);
      options.cover = (*program)->cover;
      options.remarks = &of_cover;
      options.on_partitions = keep(taken);
      const auto again = BuildProgram(graph, {}, target.target, options);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(CountOfSearch(of_cover, target.target), 0);
      EXPECT_EQ((*again)->cover, (*program)->cover);
      EXPECT_EQ((*again)->remarks, (*program)->remarks);
      EXPECT_EQ(ProgramText(**again), ProgramText(**program));
      EXPECT_EQ(Prices(taken, target.target), Prices(searched, target.target));
    }
  }
}

// "Measured" prices and Variants that differ from signature to signature.
class VariedPricer final : public Pricer {
 public:
  explicit VariedPricer(const Target& target)
      : target_(target), prices_(target, [&target](const Candidate& candidate) {
          const double us = candidate.engine->Price(candidate, target).us;
          return us * (0.75 + 0.0625 * Draw(candidate, target));
        }) {}
  std::optional<double> MeasuredUs(const std::string& signature) const override {
    return prices_.MeasuredUs(signature);
  }
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override {
    auto choices = prices_.Choose(candidates);
    if (!choices.ok()) return choices;
    for (size_t i = 0; i < choices->size(); ++i) {
      (*choices)[i].variant = {absl::StrCat("engine ", Draw(*candidates[i], target_))};
    }
    return choices;
  }

 private:
  // 0 to 7
  static int Draw(const Candidate& candidate, const Target& target) {
    Sha1 hash;
    hash.Update(Signature(candidate, target));
    return hash.HexDigest()[0] % 8;
  }
  const Target& target_;
  FakePricer prices_;
};

TEST(SavedCoversOfNetworksTest, GiveTheProgramThatWasMeasured) {
  const OwnedTarget target = *MakeTarget("h200");
  const Graph graph = ResNet50({.batch = 4});
  VariedPricer pricer(target.target);
  BuildOptions options{.partitioner = CostSearch, .pricer = &pricer, .saves_cover = true};
  const auto program = BuildProgram(graph, {}, target.target, options);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::string text = ProgramText(**program);
  options.pricer = nullptr;
  const auto predicted = BuildProgram(graph, {}, target.target, options);
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_NE((*predicted)->cover, (*program)->cover);  // the prices decide
  VariedPricer later(target.target);
  options.pricer = &later;
  options.cover = (*program)->cover;
  const auto again = BuildProgram(graph, {}, target.target, options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ProgramText(**again), text);
}

}  // namespace
}  // namespace onnx_cudnn
