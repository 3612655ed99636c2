// How often a search with measured prices asks, searches and measures.
#include "passes/partition/measured_search.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/fake_pricer.h"
#include "tests/support/graph_text.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

// Another Engine, whose calls of Propose are counted.
class AskedEngine final : public Engine {
 public:
  explicit AskedEngine(const Engine& engine) : engine_(engine) {}
  std::string_view name() const override { return engine_.name(); }
  void Propose(const Graph& graph, const Node& anchor, const Target& target,
               CandidateSink& sink) const override {
    ++asked;
    engine_.Propose(graph, anchor, target, sink);
  }
  Support Check(const Graph& graph, const Candidate& candidate,
                const Target& target) const override {
    return engine_.Check(graph, candidate, target);
  }
  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target& target) const override {
    return engine_.Compile(candidate, variant, target);
  }
  mutable int asked = 0;

 private:
  const Engine& engine_;
};

std::atomic<int> searches;
absl::StatusOr<std::vector<Candidate>> CountedSearch(const Stretch& stretch) {
  ++searches;
  return CostSearch(stretch);
}

// Two ops that `pairs` can run as one; that is predicted to be cheaper, and is not.
class MeasuredSearchTest : public ::testing::Test {
 protected:
  static double PairsAreDear(const Candidate& candidate) {
    return candidate.nodes.size() == 2 ? 10 : 2;
  }
  absl::StatusOr<std::vector<Partition>> Run(Pricer& pricer) const {
    searches = 0;
    return PartitionGraph(graph_, target_, CountedSearch, nullptr, {.pricer = &pricer});
  }

  const Graph graph_ = GraphFromText("g (float[2] x) => (float[2] y) { h = Relu(x) y = Neg(h) }");
  const TestEngine pairs_{{.name = "pairs", .most_nodes = 2, .us = 3}};
  const TestEngine alone_{{.name = "alone", .us = 4}};
  const AskedEngine asked_{pairs_};
  const Target target_{.engines = {&asked_, &alone_}};
};

TEST_F(MeasuredSearchTest, EnginesAreAskedOnceForEachNode) {
  FakePricer pricer(target_, PairsAreDear);
  const auto partitions = Run(pricer);
  ASSERT_TRUE(partitions.ok()) << partitions.status();
  EXPECT_EQ(partitions->size(), 2u);
  EXPECT_EQ(searches, 3);  // as predicted, at the price of the pair, and at those of each op
  EXPECT_EQ(asked_.asked, 2);
}

TEST_F(MeasuredSearchTest, WithoutNewsASearchIsNotRepeated) {
  FakePricer pricer(target_, PairsAreDear);
  ASSERT_TRUE(Run(pricer).ok());
  const auto again = Run(pricer);  // everything is known
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->size(), 2u);
  EXPECT_EQ(searches, 1);
}

// Remembers what was asked for, as "pairs Relu Neg".
class Recorder final : public Pricer {
 public:
  explicit Recorder(FakePricer& pricer) : pricer_(pricer) {}
  std::optional<double> MeasuredUs(const std::string& signature) const override {
    return pricer_.MeasuredUs(signature);
  }
  absl::StatusOr<std::vector<Choice>> Choose(
      absl::Span<const Candidate* const> candidates) override {
    std::vector<std::string> asked;
    for (const Candidate* candidate : candidates) {
      asked.emplace_back(candidate->engine->name());
      for (const Node* node : candidate->nodes) absl::StrAppend(&asked.back(), " ", node->op());
    }
    if (!asked.empty()) calls.push_back(absl::StrJoin(asked, ", "));
    return pricer_.Choose(candidates);
  }
  bool RanOut() const override { return pricer_.RanOut(); }
  std::vector<std::string> calls;

 private:
  FakePricer& pricer_;
};

// Every Node alone, in the last Engine.
absl::StatusOr<std::vector<Candidate>> EachAlone(const Stretch& stretch) {
  std::vector<Candidate> cover;
  for (const Node* node : stretch.nodes) {
    const Engine& engine = *stretch.target.engines.back();
    cover.push_back(RowMajorCandidate(engine, *node, Space::kDevice, stretch.target));
  }
  return cover;
}

TEST_F(MeasuredSearchTest, WhatAllSearchesChooseIsMeasuredAtOnce) {
  FakePricer pricer(target_, PairsAreDear);
  Recorder recorder(pricer);
  const CoverSearch all[] = {{CostSearch, &recorder}, {EachAlone, nullptr}, {Greedy, &recorder}};
  const auto covers = SearchCovers(graph_, target_, all, {.pricer = &recorder});
  ASSERT_TRUE(covers.ok()) << covers.status();
  EXPECT_EQ(recorder.calls, (std::vector<std::string>{"pairs Relu Neg, alone Relu, alone Neg"}));
  EXPECT_EQ((*covers)[0], (*covers)[1]);  // equal covers are equal texts
  EXPECT_NE((*covers)[0], (*covers)[2]);
}

// Greedy's cover comes first, then what is predicted to take longest.
TEST_F(MeasuredSearchTest, WhatTakesLongestIsMeasuredFirst) {
  const TestEngine slow({.name = "slow", .ops = {"Neg"}, .us = 4});
  const TestEngine quick({.name = "quick", .ops = {"Relu"}, .us = 3});
  const TestEngine larger({.name = "larger", .most_nodes = 2, .us = 50});
  const Target target{.engines = {&larger, &quick, &slow}};
  FakePricer pricer(target, PairsAreDear);
  Recorder recorder(pricer);
  const CoverSearch search{CostSearch, &recorder};
  ASSERT_TRUE(SearchCovers(graph_, target, {&search, 1}, {.pricer = &recorder}).ok());
  ASSERT_FALSE(recorder.calls.empty());
  EXPECT_EQ(recorder.calls[0], "larger Relu Neg, slow Neg, quick Relu");
}

// Two of `next` are 20 % dearer than the pair.
TEST_F(MeasuredSearchTest, WhatComesNextIfPricesAreHigherIsAskedForToo) {
  const TestEngine pair({.name = "pair", .most_nodes = 2, .us = 10});
  const TestEngine next({.name = "next", .us = 6}), far({.name = "far", .us = 7});
  const Target target{.engines = {&pair, &next, &far}};
  FakePricer pricer(target, [](const Candidate& c) { return c.nodes.size() == 2 ? 30 : 6; });
  Recorder recorder(pricer);
  const CoverSearch search{CostSearch, &recorder};
  ASSERT_TRUE(SearchCovers(graph_, target, {&search, 1}, {.pricer = &recorder}).ok());
  EXPECT_EQ(recorder.calls, (std::vector<std::string>{"pair Relu Neg, next Relu, next Neg"}));
}

TEST_F(MeasuredSearchTest, ASearchOfWhichNothingWasMeasuredHasNoCover) {  // the pair alone was
  FakePricer pricer(target_, PairsAreDear, /*budget=*/1);
  const CoverSearch all[] = {{CostSearch, &pricer}, {EachAlone, nullptr}};
  const auto covers = SearchCovers(graph_, target_, all, {.pricer = &pricer});
  ASSERT_TRUE(covers.ok()) << covers.status();
  EXPECT_NE((*covers)[0], "");
  EXPECT_EQ((*covers)[1], "");
  EXPECT_EQ(pricer.compiled(), 1);
}

}  // namespace
}  // namespace onnx_cudnn
