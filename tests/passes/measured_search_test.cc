// How often a search with measured prices asks, searches and measures.
#include "passes/partition/measured_search.h"

#include <gtest/gtest.h>

#include <atomic>

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

}  // namespace
}  // namespace onnx_cudnn
