#include "passes/partition/pins.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "passes/build_program.h"
#include "runtime/exec/host_engine.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto rules = ParsePins(text, "pins.txt");
  EXPECT_EQ(rules.status().code(), absl::StatusCode::kInvalidArgument) << rules.status();
  return std::string(rules.status().message());
}

TEST(ParsePinsTest, ReadsRulesCommentsAndQuotes) {
  const auto rules = ParsePins(
      "# all of it\r\n"
      "\n"
      "  pin cudnn conv1\trelu1 # the stem\r\n"
      "forbid * \"a b\" \"c\\\"d\\\\#\"\n",
      "pins.txt");
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_EQ((*rules)[0].kind, PinRule::Kind::kPin);
  EXPECT_EQ((*rules)[0].engine, "cudnn");
  EXPECT_EQ((*rules)[0].nodes, (std::vector<std::string>{"conv1", "relu1"}));
  EXPECT_EQ((*rules)[0].where, "pins.txt:3");
  EXPECT_EQ((*rules)[1].kind, PinRule::Kind::kForbid);
  EXPECT_EQ((*rules)[1].engine, "*");
  EXPECT_EQ((*rules)[1].nodes, (std::vector<std::string>{"a b", "c\"d\\#"}));
}

TEST(ParsePinsTest, EmptyTextHasNoRules) {
  EXPECT_TRUE(ParsePins("", "pins.txt").value().empty());
  EXPECT_TRUE(ParsePins("# nothing", "pins.txt").value().empty());
}

TEST(ParsePinsTest, NamesTheLineThatIsNoRule) {
  EXPECT_EQ(ErrorOf("\npinn cudnn a"), "pins.txt:2: expected pin or forbid, found \"pinn\"");
  EXPECT_EQ(ErrorOf("pin cudnn"), "pins.txt:1: expected an engine and at least one node after pin");
  EXPECT_EQ(ErrorOf("pin cudnn \"a"), "pins.txt:1: expected a closing quote");
  EXPECT_EQ(ErrorOf("pin cudnn a b a"), "pins.txt:1: node \"a\" is given twice");
}

TEST(ParsePinsTest, ShowsBytesOfAFileEscapedAndCut) {
  EXPECT_EQ(ErrorOf(std::string_view("\x01\0", 2)),
            "pins.txt:1: expected pin or forbid, found \"\\x01\\x00\"");
  EXPECT_LT(ErrorOf(std::string(100'000, 'x')).size(), 200u);
}

TEST(ParsePinsTest, RefusesWhatIsTooLarge) {
  EXPECT_EQ(ErrorOf(std::string(kMaxPinBytes + 1, ' ')),
            "pins.txt: expected at most 1048576 bytes, found 1048577");
  std::string many;
  for (size_t i = 0; i <= kMaxPinRules; ++i) many += "pin * a\n";
  EXPECT_EQ(ErrorOf(many), "pins.txt:10001: expected at most 10000 rules");
  std::string wide = "pin *";
  for (size_t i = 0; i <= kMaxPinnedNodes; ++i) absl::StrAppend(&wide, " n", i);
  EXPECT_EQ(ErrorOf(wide), "pins.txt:1: expected at most 1000 nodes, found 1001");
}

// Four Relus in a row, n0 to n3.
class PinsTest : public ::testing::Test {
 protected:
  PinsTest() {
    Value* v = &graph_.AddInput("x", Type::Tensor(DType::kF32, {2}));
    for (int i = 0; i < 4; ++i) {
      Node& node = graph_.AddNode({.op = "Relu",
                                   .inputs = {v},
                                   .outputs = {absl::StrCat("v", i)},
                                   .name = i == 3 ? "" : absl::StrCat("n", i)});
      graph_.SetType(node.output(0), v->type());
      v = &node.output(0);
    }
    graph_.AddOutput("y", *v);
  }

  // Each Partition's Engine and size, or the error.
  std::string Partitioned(std::string_view pins, Partitioner partitioner) const {
    const auto rules = ParsePins(pins, "pins.txt").value();
    const auto partitions = PartitionGraph(graph_, target_, partitioner, nullptr, {.pins = rules});
    if (!partitions.ok()) return std::string(partitions.status().message());
    return absl::StrJoin(*partitions, " ", [](std::string* out, const Partition& p) {
      absl::StrAppend(out, p.chosen.engine->name(), p.chosen.nodes.size());
    });
  }
  std::string Both(std::string_view pins) const {
    const std::string greedy = Partitioned(pins, Greedy), cost = Partitioned(pins, CostSearch);
    return greedy == cost ? greedy : absl::StrCat("greedy: ", greedy, ", cost: ", cost);
  }

  Graph graph_;
  const TestEngine fused_{{.name = "fused", .most_nodes = 4}};
  const TestEngine pairs_{{.name = "pairs", .most_nodes = 2, .us = 3}};
  const TestEngine single_{{.name = "single", .us = 2}};
  const Target target_ = TargetOf({&fused_, &pairs_, &single_});
};

TEST_F(PinsTest, WithoutRulesTheLargestIsTaken) { EXPECT_EQ(Both("# none"), "fused4"); }

TEST_F(PinsTest, PinsNodesOnAnEngine) {
  EXPECT_EQ(Both("pin pairs n0 n1"), "pairs2 fused2");
  EXPECT_EQ(Both("pin single n0\npin single v3"), "single1 fused2 single1");
}

TEST_F(PinsTest, PinsNodesTogetherOnAnyEngine) {
  EXPECT_EQ(Both("forbid fused n0\npin * n0 n1"), "pairs2 fused2");
}

TEST_F(PinsTest, ForbidsAnEngineANode) {
  EXPECT_EQ(Both("forbid fused n0\nforbid pairs n0"), "single1 fused3");
}

TEST_F(PinsTest, ForbidsNodesTogether) { EXPECT_EQ(Both("forbid * n1 n2"), "fused2 fused2"); }

TEST_F(PinsTest, NamesWhatIsNotThere) {
  EXPECT_EQ(Both("\npin fused n9"), "pins.txt:2: the graph has no node \"n9\" after its rewrites");
  EXPECT_EQ(Both("pin gpu n0"),
            "pins.txt:1: target cpu has no engine \"gpu\", expected one of: *, fused, pairs, "
            "single");
}

TEST_F(PinsTest, NamesWhatIsOfferedInstead) {
  EXPECT_EQ(Both("pin single n0 n1"),
            "pins.txt:1: no engine offers what is pinned; offered are: fused {n0 n1 n2 Relu}, "
            "fused {n0 n1 n2}, fused {n0 n1}, fused {n0}, fused {n1 n2 Relu}, fused {n1 n2}, "
            "fused {n1}, pairs {n0 n1}, pairs {n0}, pairs {n1 n2}, pairs {n1}, single {n0}, …");
}

TEST_F(PinsTest, ANodeIsPinnedOnce) {
  EXPECT_EQ(Both("pin fused n0\npin pairs n0 n1"),
            "pins.txt:2: node \"n0\" (Relu) is pinned twice, first by pins.txt:1");
}

TEST_F(PinsTest, RefusesANameThatSeveralNodesHave) {
  Graph twins;
  Value& x = twins.AddInput("x", Type::Tensor(DType::kF32, {2}));
  for (int i = 0; i < 2; ++i) twins.AddNode({.op = "Relu", .inputs = {&x}, .name = "n"});
  const auto rules = ParsePins("pin fused n", "pins.txt").value();
  EXPECT_EQ(Pins::Resolve(rules, twins, target_).status().message(),
            "pins.txt:1: 2 nodes are called \"n\", name them by their outputs");
}

TEST_F(PinsTest, ANodeExcludedByAllRulesNamesThem) {
  const std::string error = Both("forbid * n0");
  EXPECT_NE(error.find("node \"n0\" (Relu): no engine runs it"), std::string::npos) << error;
  EXPECT_NE(error.find("single: pins.txt:1 keeps it out"), std::string::npos) << error;
}

TEST_F(PinsTest, ReachesTheProgram) {
  const auto rules = ParsePins("pin pairs n0 n1", "pins.txt").value();
  const auto program = BuildProgram(graph_, {}, target_, {.pins = rules});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(Partitions(**program), "pairs {Relu Relu} stream 0\nfused {Relu Relu} stream 0");
}

}  // namespace
}  // namespace onnx_cudnn
