// Slices and Splits with outputs that are read in place, in the input.
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "runtime/exec/host_engine.h"
#include "runtime/exec/view_engine.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

class PartsInPlaceTest : public ::testing::Test {
 protected:
  void Build(std::string_view text) {
    program_ = ExpectRunsLikeEvaluate(GraphFromText(text), {}, target_);
    ASSERT_NE(program_, nullptr);
  }
  // The Engines of the Nodes with that op, in order.
  std::string By(std::string_view op) const {
    std::vector<std::string_view> engines;
    for (const Partition& p : program_->partitions) {
      if (p.chosen.nodes[0]->op() == op) engines.push_back(p.chosen.engine->name());
    }
    return absl::StrJoin(engines, " ");
  }
  const PlacedStep& StepOf(std::string_view op) const {
    for (size_t i = 0; i < program_->partitions.size(); ++i) {
      if (program_->partitions[i].chosen.nodes[0]->op() == op) return program_->steps[i];
    }
    ADD_FAILURE() << "no " << op;
    return program_->steps[0];
  }

  const std::unique_ptr<Engine> host_ = MakeHostEngine(Space::kDevice), view_ = MakeViewEngine();
  const Target target_ = TargetOf({view_.get(), host_.get()});
  std::shared_ptr<const Program> program_;
};

TEST_F(PartsInPlaceTest, SlicesLieInTheirInput) {
  ASSERT_NO_FATAL_FAILURE(Build(R"(
      g (float[3,2,4] x) => (float[1,2,4] y)
        <int64[1] n = {0}, int64[1] o = {1}, int64[1] p = {2}, int64[1] q = {3}>
      { r = Relu(x) a = Slice(r, n, o) b = Slice(r, o, p) c = Slice(r, p, q)
        d = Mul(a, b) y = Add(d, c) })"));
  EXPECT_EQ(By("Slice"), "view view view");
  const int64_t begin = StepOf("Relu").out[0].offset;
  EXPECT_EQ(StepOf("Mul").in[0].offset, begin);
  EXPECT_EQ(StepOf("Mul").in[1].offset, begin + 32);
  EXPECT_EQ(StepOf("Add").in[1].offset, begin + 64);
}

TEST_F(PartsInPlaceTest, TheOutputsOfASplitLieInItsInput) {
  ASSERT_NO_FATAL_FAILURE(Build(R"(
      g (float[1,4,2,2] x) => (float[1,2,2,2] y)
      { r = Relu(x) a, b = Split<axis = 1, num_outputs = 2>(r) y = Sub(b, a) })"));
  EXPECT_EQ(By("Split"), "view");
  const PlacedStep& split = StepOf("Split");
  EXPECT_EQ(split.out[0].offset, split.in[0].offset);
  EXPECT_EQ(split.out[1].offset, split.in[0].offset + 32);
}

TEST_F(PartsInPlaceTest, APartOfAGraphInputLiesInTheCallersTensor) {
  ASSERT_NO_FATAL_FAILURE(Build(R"(
      g (float[3,4] x) => (float[1,4] y) <int64[1] s = {-1}, int64[1] e = {9}>
      { t = Slice(x, s, e) y = Neg(t) })"));
  EXPECT_EQ(By("Slice"), "view");
  EXPECT_EQ(StepOf("Neg").in[0].kind, Operand::Kind::kInput);
  EXPECT_EQ(StepOf("Neg").in[0].offset, 32);
  EXPECT_EQ(program_->memory.arena_bytes, 0);
}

TEST_F(PartsInPlaceTest, OffsetsOfAPartOfAPartAddUp) {
  ASSERT_NO_FATAL_FAILURE(Build(R"(
      g (float[4,8] x) => (float[1,4] y)
        <int64[1] o = {1}, int64[1] p = {3}, int64[1] q = {4}, int64[2] d = {4, 4}>
      { r = Relu(x) t = Slice(r, o, p) u = Reshape(t, d) v = Slice(u, p, q) y = Neg(v) })"));
  EXPECT_EQ(By("Slice"), "view view");
  EXPECT_EQ(StepOf("Neg").in[0].offset, StepOf("Relu").out[0].offset + 32 + 48);
}

TEST_F(PartsInPlaceTest, TheInputLivesUntilItsLastPartIsRead) {  // after Tile wrote 768 bytes
  ASSERT_NO_FATAL_FAILURE(Build(R"(
      g (float[2,64] x) => (float[1,64] y)
        <int64[1] n = {0}, int64[1] o = {1}, int64[1] p = {2}, int64[2] three = {3, 1}>
      { r = Relu(x) early = Slice(r, n, o) late = Slice(r, o, p)
        a = Tile(early, three) b = ReduceSum(a, n) y = Add(b, late) })"));
  EXPECT_EQ(By("Slice"), "view view");
  const Operand &whole = StepOf("Relu").out[0], &other = StepOf("Tile").out[0];
  EXPECT_TRUE(other.offset >= whole.offset + whole.bytes ||
              whole.offset >= other.offset + other.bytes);
}

TEST_F(PartsInPlaceTest, APartIsNotOverwrittenBeforeTheWholeIsRead) {  // Neg may work in place
  ASSERT_NO_FATAL_FAILURE(Build(R"(
      g (float[2,4] x) => (float[1,4] y, float[2,4] z) <int64[1] o = {1}, int64[1] p = {2}>
      { r = Relu(x) t = Slice(r, o, p) a = Neg(t) b = Abs(a) y = Neg(b) c = Neg(r) z = Abs(c) })"));
  EXPECT_EQ(By("Slice"), "view");
}

TEST_F(PartsInPlaceTest, APartOfWhatLiesInAConcat) {
  ASSERT_NO_FATAL_FAILURE(Build(R"(
      g (float[2,4] x) => (float[4,4] y, float[1,4] z) <int64[1] o = {1}, int64[1] p = {2}>
      { a = Abs(x) b = Relu(x) t = Slice(b, o, p) c = Concat<axis = 0>(a, b)
        y = Neg(c) z = Exp(t) })"));
  EXPECT_EQ(By("Slice"), "view");
  EXPECT_EQ(By("Concat"), "view");
  EXPECT_EQ(StepOf("Exp").in[0].offset, StepOf("Concat").out[0].offset + 32 + 16);
}

TEST_F(PartsInPlaceTest, APartThatLiesInAConcatIsCopiedThere) {
  ASSERT_NO_FATAL_FAILURE(Build(R"(
      g (float[4,4] x) => (float[8,4] y, float[2,4] z)
      { r = Relu(x) a, b = Split<axis = 0, num_outputs = 2>(r) c = Neg(b) d = Abs(c)
        t = Concat<axis = 0>(a, b, c, d) y = Neg(t) z = Exp(b) })"));
  EXPECT_EQ(By("Split"), "host");
  EXPECT_EQ(By("Concat"), "view");
}

}  // namespace
}  // namespace onnx_cudnn
