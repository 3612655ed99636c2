// Slices and Splits with outputs that are contiguous in their input.
#include "absl/strings/str_cat.h"
#include "tests/support/proposed.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

using Lines = std::vector<std::string>;
using Offsets = std::vector<int64_t>;

class ViewPartsTest : public EngineTest {
 protected:
  ViewPartsTest() : EngineTest("view") {}

  // Offsets of the outputs in the input, in bytes; both row-major.
  Offsets OffsetsAt(std::string_view text, std::string_view op) const {
    const Graph graph = GraphWithWeights(text);
    const Proposed proposed = At(graph, op);
    if (proposed.candidates.empty()) return {};
    const auto step = engine_->Compile(proposed.candidates[0], {}, target_)->step();
    Offsets offsets;
    for (const Alias& alias : step->aliases()) {
      EXPECT_EQ(alias.output, static_cast<int>(offsets.size()));
      EXPECT_EQ(alias.input, 0);
      EXPECT_TRUE(alias.required);
      offsets.push_back(alias.offset);
    }
    EXPECT_FALSE(step->launches());
    EXPECT_EQ(proposed.candidates[0].cost.us, 0);
    return offsets;
  }
};

TEST_F(ViewPartsTest, FindsWhereASliceBegins) {
  const struct {
    const char *what, *text;
    int64_t offset;
  } cases[] = {
      {"a third",
       R"(g (float[3,2,4] x) => (y) <int64[1] s = {1}, int64[1] e = {2}, int64[1] a = {0}>
          { t = Slice(x, s, e, a) y = Relu(t) })",
       32},
      {"counted from the end",
       R"(g (float[3,2,4] x) => (y) <int64[1] s = {-2}, int64[1] e = {-1}, int64[1] a = {-3}>
          { t = Slice(x, s, e, a) y = Relu(t) })",
       32},
      {"no axes, an end beyond", R"(g (float[3,2,4] x) => (y) <int64[1] s = {2}, int64[1] e = {100}>
          { t = Slice(x, s, e) y = Relu(t) })",
       64},
      {"a start before the first",
       R"(g (float[3,2,4] x) => (y) <int64[1] s = {-100}, int64[1] e = {2}>
          { t = Slice(x, s, e) y = Relu(t) })",
       0},
      {"an inner axis of one",
       R"(g (float[1,4,4] x) => (y) <int64[1] s = {2}, int64[1] e = {4}, int64[1] a = {1}>
          { t = Slice(x, s, e, a) y = Relu(t) })",
       32},
      {"some of one",
       R"(g (float[3,4,4] x) => (y) <int64[2] s = {2, 1}, int64[2] e = {3, 3}, int64[2] a = {0, 1}>
          { t = Slice(x, s, e, a) y = Relu(t) })",
       144},
      {"halves", R"(g (float16[4,8] x) => (y) <int64[1] s = {3}, int64[1] e = {4}>
          { t = Slice(x, s, e) y = Relu(t) })",
       48},
  };
  for (const auto& [what, text, offset] : cases) {
    EXPECT_EQ(OffsetsAt(text, "Slice"), Offsets({offset})) << what;
  }
}

TEST_F(ViewPartsTest, FindsWhereTheOutputsOfASplitBegin) {
  EXPECT_EQ(OffsetsAt(R"(g (float[1,8,4,4] x) => (y, z) <int64[2] n = {2, 6}>
                { a, b = Split<axis = 1>(x, n) y = Relu(a) z = Relu(b) })",
                      "Split"),
            Offsets({0, 128}));
  EXPECT_EQ(OffsetsAt(R"(g (float[3,4] x) => (y, z)
                { a, b, c = Split<axis = -2, num_outputs = 3>(x) y = Relu(b) z = Relu(c) })",
                      "Split"),
            Offsets({16, 32}));
}

TEST_F(ViewPartsTest, ReportsWhyItCopies) {
  const struct {
    const char *op, *text, *reason;
  } cases[] = {
      {"Slice", R"(g (float[2,4,4] x) => (y) <int64[1] s = {1}, int64[1] e = {2}, int64[1] a = {1}>
          { t = Slice(x, s, e, a) y = Relu(t) })",
       "its axis is not the outermost of its format"},
      {"Slice",
       R"(g (float[3,4,4] x) => (y) <int64[2] s = {1, 0}, int64[2] e = {3, 2}, int64[2] a = {0, 1}>
          { t = Slice(x, s, e, a) y = Relu(t) })",
       "its axis is not the outermost of its format"},
      {"Slice", R"(g (float[3,3] x) => (y) <int64[1] s = {1}, int64[1] e = {2}>
          { t = Slice(x, s, e) y = Relu(t) })",
       "output t would begin at byte 12, no multiple of 16"},
      {"Slice",
       R"(g (float[4,4] x) => (y) <int64[1] s = {0}, int64[1] e = {4}, int64[1] a = {0}, int64[1] p = {2}>
          { t = Slice(x, s, e, a, p) y = Relu(t) })",
       "its steps are not all 1"},
      {"Slice",
       R"(g (float[4,4] x) => (y) <int64[1] s = {1}, int64[1] e = {2}> { y = Slice(x, s, e) })",
       "its output is a graph output"},
      {"Slice", R"(g (float[4,4] w) => (y) <int64[1] s = {1}, int64[1] e = {2}>
          { t = Slice(w, s, e) y = Relu(t) })",
       "its input is a constant"},
      {"Slice", R"(g (float[4,4] x, int64[1] s) => (y) <int64[1] e = {2}>
          { t = Slice(x, s, e) y = Relu(t) })",
       "s is not a constant"},
      {"Slice", R"(g (float[4,4] x) => (y) <int64[1] s = {2}, int64[1] e = {2}>
          { t = Slice(x, s, e) y = Relu(t) })",
       "its output is f32[0,4]"},
      {"Split",
       R"(g (float[4,4] x) => (y, b) { a, b = Split<axis = 0, num_outputs = 2>(x) y = Relu(a) })",
       "its output is a graph output"},
      {"Split", R"(g (float[4,4] x) => (y, z)
          { a, b = Split<axis = 1, num_outputs = 2>(x) y = Relu(a) z = Relu(b) })",
       "its axis is not the outermost of its format"},
  };
  for (const auto& [op, text, reason] : cases) {
    EXPECT_EQ(At(GraphWithWeights(text), op).reasons, Lines({reason})) << text;
  }
}

TEST_F(ViewPartsTest, TakesEveryFormatInWhichItsAxisIsOutermost) {
  const auto lines = [&](std::string_view dims, int axis) {
    const std::string text = absl::StrCat("g (float[", dims, R"(] x) => (y)
        <int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {)",
                                          axis, R"(}>
        { t = Slice(x, s, e, a) y = Relu(t) })");
    return LinesAt(GraphWithWeights(text), "Slice");
  };
  EXPECT_EQ(lines("4,6,2,2", 0),
            Lines({"{Slice} rows > rows", "{Slice} last > last", "{Slice} last4 > last4"}));
  EXPECT_EQ(lines("1,8,4,4", 1), Lines({"{Slice} rows > rows"}));
  EXPECT_EQ(lines("1,8,4,4", 2), Lines({"{Slice} last > last"}));
}

TEST_F(ViewPartsTest, RefusesOtherFormats) {
  const Graph graph = GraphWithWeights(R"(
      g (float[4,8,2,2] x) => (y) <int64[1] s = {1}, int64[1] e = {3}>
      { t = Slice(x, s, e) y = Relu(t) })");
  Candidate candidate = At(graph, "Slice").candidates[0];
  candidate.outputs[0].format = Format::ChannelsLast(Dims({2, 8, 2, 2}));
  EXPECT_EQ(engine_->Check(graph, candidate, target_).reason(), "its formats differ");
}

TEST_F(ViewPartsTest, LeavesToAConcatWhatLiesInItsOutput) {
  const Graph outer = GraphWithWeights(R"(
      g (float[4,4] x) => (y) <int64[1] s = {0}, int64[1] e = {2}>
      { t = Slice(x, s, e) n = Neg(x) c = Concat<axis = 0>(t, n) y = Relu(c) })");
  EXPECT_EQ(At(outer, "Slice").reasons, Lines({"its output lies in that of a Concat"}));
  EXPECT_EQ(LinesAt(outer, "Concat"), Lines({"{Concat} rows rows > rows"}));
  const Graph inner = GraphWithWeights(R"(
      g (float[4,4] x) => (y) <int64[1] s = {0}, int64[1] e = {2}>
      { t = Slice(x, s, e) n = Neg(t) c = Concat<axis = 1>(t, n) y = Relu(c) })");
  EXPECT_EQ(LinesAt(inner, "Slice"), Lines({"{Slice} rows > rows"}));
}

TEST_F(ViewPartsTest, JoinsChannelsThatLieContiguousOrInterleaved) {
  const auto lines = [&](int64_t images, std::string_view axis) {
    return LinesAt(GraphWithWeights(absl::StrCat("g (float16[", images, R"(,8,2,4] x) => (y)
        { a = Relu(x) b = Neg(x) t = Concat<axis = )",
                                                 axis, R"(>(a, b) y = Relu(t) })")),
                   "Concat");
  };
  const std::string contiguous = "{Concat} rows rows > rows";
  EXPECT_EQ(lines(1, "1"), Lines({contiguous, "{Concat} 2:2 3:4 1:8^16 2:2 3:4 1:8^16 > last"}));
  EXPECT_EQ(lines(3, "1"), Lines({"{Concat} 0:3 2:2 3:4 1:8^16 0:3 2:2 3:4 1:8^16 > last"}));
  EXPECT_EQ(lines(1, "2"), Lines({"{Concat} last last > last"}));
}

TEST_F(ViewPartsTest, InterleavedPartsBeginInThePixelsOfTheWhole) {
  const Graph graph = GraphWithWeights(R"(
      g (float16[3,8,2,4] x) => (y, z)
      { a = Relu(x) b = Neg(x) t = Concat<axis = 1>(a, b) y = Relu(t)
        c = Abs(x) u = Concat<axis = 1>(c, t) z = Relu(u) })");
  const Proposed inner = At(graph, "Concat");
  EXPECT_EQ(Describe(inner.candidates),
            Lines({"{Concat} 0:3 2:2 3:4 1:8^24 0:3 2:2 3:4 1:8^24 > 0:3 2:2 3:4 1:16^24"}));
  ASSERT_EQ(inner.candidates.size(), 1u);
  const auto step = engine_->Compile(inner.candidates[0], {}, target_)->step();
  ASSERT_EQ(step->aliases().size(), 2u);
  EXPECT_EQ(step->aliases()[0].offset, 0);
  EXPECT_EQ(step->aliases()[1].offset, 16);
  EXPECT_EQ(step->aliases()[1].kind, Alias::Kind::kInputInOutput);
}

TEST_F(ViewPartsTest, SaysWhyChannelsAreCopied) {
  const auto reasons = [&](std::string_view nodes) {
    return At(GraphWithWeights(absl::StrCat("g (float16[3,8,2,4] x, float16[3,4,2,4] s) => (y) { ",
                                            nodes, " }")),
              "Concat")
        .reasons;
  };
  EXPECT_EQ(reasons("a = Relu(x) b = Neg(x) y = Concat<axis = 1>(a, b)"),
            Lines({"its output is a graph output"}));
  EXPECT_EQ(reasons("a = Relu(x) b = Neg(s) t = Concat<axis = 1>(a, b) y = Relu(t)"),
            Lines({"its pixels have 24 bytes, no multiple of 16"}));
  EXPECT_EQ(reasons("a = Relu(x) b = Neg(x) t = Concat<axis = 3>(a, b) y = Relu(t)"),
            Lines({"it does not join channels of images"}));
}

TEST_F(ViewPartsTest, WinsOverAKernelThatCopies) {
  const Graph graph = GraphWithWeights(R"(
      g (float[3,1,2,4,8] x) => (float[1,1,2,4,8] y)
        <int64[1] n = {0}, int64[1] o = {1}, int64[1] p = {2}, int64[1] q = {3}>
      { a = Slice(x, n, o) b = Slice(x, o, p) c = Slice(x, p, q)
        d = Softmax(a) e = Mul(d, b) y = Add(e, c) })");
  for (const Partitioner partitioner : {Greedy, CostSearch}) {
    const auto program = ExpectRunsLikeEvaluate(graph, {}, target_, partitioner);
    ASSERT_NE(program, nullptr);
    int views = 0;
    for (const Partition& p : program->partitions) {
      views += p.chosen.engine == engine_ && p.chosen.nodes[0]->op() == "Slice" ? 1 : 0;
    }
    EXPECT_EQ(views, 3) << Partitions(*program);
  }
}

}  // namespace
}  // namespace onnx_cudnn
