// Engines that Programs for few Runs avoid, over test Engines.
#include "gtest/gtest.h"
#include "passes/partition/partitioners.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

constexpr AvoidedEngine kAvoided[] = {{.name = "compiles"}, {.name = "loads", .most_times = 4}};

// The engines of the partitions of Relu and Neg, by the order of the Graph.
std::vector<std::string_view> Chosen(std::vector<const Engine*> engines) {
  const Graph graph = GraphFromText(R"(
      g (float[2] x) => (float[2] y)
      { h = Relu(x)
        y = Neg(h) })");
  const auto partitions = PartitionGraph(graph, TargetOf(std::move(engines)), Greedy, nullptr,
                                         {.avoided_engines = kAvoided});
  EXPECT_TRUE(partitions.ok()) << partitions.status();
  std::vector<std::string_view> names;
  for (const Partition& p : *partitions) names.push_back(p.chosen.engine->name());
  return names;
}
using Names = std::vector<std::string_view>;

TEST(AvoidedEnginesTest, OneThatLoadsServesWhereItIsPredictedToBeSoMuchFaster) {
  const TestEngine loads({.name = "loads", .us = 1}), near({.name = "own", .us = 4}),
      far({.name = "own", .us = 4.1});
  EXPECT_EQ(Chosen({&loads, &near}), (Names{"own", "own"}));
  EXPECT_EQ(Chosen({&loads, &far}), (Names{"loads", "loads"}));
}

// Greedy would take the larger Candidate.
TEST(AvoidedEnginesTest, ItsLargerCandidatesStayOutToo) {
  const TestEngine loads({.name = "loads", .most_nodes = 2, .us = 1});
  const TestEngine own({.name = "own", .us = 4});
  EXPECT_EQ(Chosen({&loads, &own}), (Names{"own", "own"}));
}

TEST(AvoidedEnginesTest, ServeWhereNoOtherEngineOfTheDeviceDoes) {
  const TestEngine compiles({.name = "compiles", .us = 0.1}), loads({.name = "loads", .us = 1});
  const TestEngine relu({.name = "own", .ops = {"Relu"}, .us = 4});
  const TestEngine host({.name = "host", .us = 50});
  EXPECT_EQ(Chosen({&compiles, &loads, &relu, &host}), (Names{"own", "loads"}));
  EXPECT_EQ(Chosen({&compiles, &relu, &host}), (Names{"own", "compiles"}));
}

// What is beyond its fit is a guess, on which greedy does not rely.
TEST(AvoidedEnginesTest, GuessesKeepNoEngineOut) {
  const TestEngine loads({.name = "loads", .us = 1});
  const TestEngine guess({.name = "own", .us = 2, .beyond_fit = true});
  EXPECT_EQ(Chosen({&loads, &guess}), (Names{"loads", "loads"}));
}

}  // namespace
}  // namespace onnx_cudnn
