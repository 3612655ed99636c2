// A Concat along the outermost axis; its inputs are written directly into its output.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"
#include "tests/support/test_engines.h"

namespace onnx_cudnn {
namespace {

class ConcatInPlaceTest : public ::testing::Test {
 protected:
  // The Engines of the Concats, in order; also checks that the Program's results are right.
  std::string ConcatBy(std::string_view text) const {
    const auto program = ExpectRunsLikeEvaluate(GraphFromText(text), {}, target_);
    if (program == nullptr) return "";
    std::vector<std::string_view> engines;
    for (const Partition& p : program->partitions) {
      if (p.chosen.nodes[0]->op() == "Concat") engines.push_back(p.chosen.engine->name());
    }
    return absl::StrJoin(engines, " ");
  }

  const std::unique_ptr<Engine> view_ = MakeViewEngine();
  const std::unique_ptr<Engine> host_ = MakeHostEngine(Space::kDevice);
  const Target target_ = TargetOf({view_.get(), host_.get()});
};

TEST_F(ConcatInPlaceTest, InputsLieInTheOutput) {
  const Graph graph = GraphFromText(R"(
      g (float[1,4,2,2] x) => (float[1,12,2,2] y)
      { a = Relu(x)
        b = Neg(x)
        c = Abs(x)
        t = Concat<axis = 1>(a, b, c)
        y = Relu(t) })");
  const auto program = ExpectRunsLikeEvaluate(graph, {}, target_);
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->memory.arena_bytes, 256);  // 12 x 2 x 2 floats are 192 bytes
  const auto concat =
      std::find_if(program->partitions.begin(), program->partitions.end(),
                   [](const Partition& p) { return p.chosen.nodes[0]->op() == "Concat"; });
  ASSERT_NE(concat, program->partitions.end());
  EXPECT_EQ(concat->chosen.engine->name(), "view");
  const PlacedStep& placed = program->steps[concat - program->partitions.begin()];
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(placed.in[i].offset, placed.out[0].offset + 64 * i);
  }
}

TEST_F(ConcatInPlaceTest, NestsAndKeepsOtherReaders) {
  EXPECT_EQ(ConcatBy(R"(
      g (float[4,2] x) => (float[12,2] y, float[4,2] z, float[8,2] w)
      { a = Relu(x)
        b = Neg(x)
        t = Concat<axis = 0>(a, b)
        c = Abs(a)
        u = Concat<axis = -2>(t, c)
        y = Relu(u)
        z = Neg(b)
        w = Relu(t) })"),
            "view view");
}

TEST_F(ConcatInPlaceTest, APartIsNotOverwrittenBeforeTheWholeIsRead) {  // Relu may work in place
  EXPECT_EQ(ConcatBy(R"(
      g (float[4,2] x) => (float[8,2] y, float[4,2] z)
      { a = Neg(x)
        b = Abs(x)
        c = Relu(a)
        d = Relu(c)
        z = Relu(d)
        t = Concat<axis = 0>(a, b)
        y = Relu(t) })"),
            "view");
}

TEST_F(ConcatInPlaceTest, TakesChannelsLastWhereItsAxisIsOutermost) {
  const TestEngine last(
      {.name = "last", .ops = {"Sigmoid", "Conv"}, .channels_last = true, .us = 0.1});
  const Graph graph = GraphFromText(R"(
      g (float[1,4,2,2] x) => (float[1,4,4,2] y) <float[4,4,1,1] w = {1,0,0,1, 0,1,0,0, 2,0,1,0, 0,0,0,1}>
      { a = Conv(x, w)
        b = Sigmoid(a)
        t = Concat<axis = 2>(a, b)
        y = Conv(t, w) })");
  const auto program =
      ExpectRunsLikeEvaluate(graph, {}, TargetOf({view_.get(), &last, host_.get()}), CostSearch);
  ASSERT_NE(program, nullptr);
  EXPECT_NE(Partitions(*program).find("view {Concat}"), std::string::npos) << Partitions(*program);
}

TEST_F(ConcatInPlaceTest, CopiesWhatCannotLieInTheOutput) {
  const struct {
    const char *why, *text;
  } cases[] = {
      {"an inner axis", R"(g (float[2,4] x) => (float[2,8] y)
          { a = Relu(x) b = Neg(x) t = Concat<axis = 1>(a, b) y = Relu(t) })"},
      {"a graph input", R"(g (float[4,2] x) => (float[8,2] y)
          { a = Relu(x) t = Concat<axis = 0>(a, x) y = Relu(t) })"},
      {"a constant", R"(g (float[4] x) => (float[8] y) <float[4] c = {1, 2, 3, 4}>
          { a = Relu(x) t = Concat<axis = 0>(a, c) y = Relu(t) })"},
      {"a graph output", R"(g (float[4] x) => (float[8] y, float[4] a)
          { a = Relu(x) b = Neg(x) t = Concat<axis = 0>(a, b) y = Relu(t) })"},
      {"it is a graph output", R"(g (float[4] x) => (float[8] t)
          { a = Relu(x) b = Neg(x) t = Concat<axis = 0>(a, b) })"},
      {"a value stands twice", R"(g (float[4] x) => (float[8] y)
          { a = Relu(x) t = Concat<axis = 0>(a, a) y = Relu(t) })"},
      {"a view", R"(g (float[2,2] x) => (float[8] y)
          { s = Relu(x) a = Reshape<allowzero = 0>(s, d) b = Neg(a) t = Concat<axis = 0>(a, b) y = Relu(t) })"},
      {"a part begins between two addresses that kernels take", R"(g (float[3] x) => (float[6] y)
          { a = Relu(x) b = Neg(x) t = Concat<axis = 0>(a, b) y = Relu(t) })"},
  };
  for (const auto& [why, text] : cases) {
    std::string whole(text);
    if (whole.find("Reshape") != std::string::npos) {
      whole.replace(whole.find("y)") + 2, 0, " <int64[1] d = {4}>");
    }
    EXPECT_EQ(ConcatBy(whole), "host") << why;
  }
}

TEST_F(ConcatInPlaceTest, AValueLiesInOneConcatOnly) {
  EXPECT_EQ(ConcatBy(R"(
      g (float[4] x) => (float[8] y, float[8] z)
      { a = Relu(x)
        b = Neg(x)
        c = Abs(x)
        t = Concat<axis = 0>(a, b)
        u = Concat<axis = 0>(a, c)
        y = Relu(t)
        z = Relu(u) })"),
            "view host");
}

}  // namespace
}  // namespace onnx_cudnn
