// Transposes, and Reshapes that leave channels apart from pixels, only rename, join or divide the
// axes of a Format.
#include "absl/strings/str_cat.h"
#include "tests/support/proposed.h"
#include "tests/support/run_program.h"

namespace onnx_cudnn {
namespace {

using Lines = std::vector<std::string>;

class ViewTransposeTest : public EngineTest {
 protected:
  ViewTransposeTest() : EngineTest("view") {}

  // A Transpose of an input, and a reader of it.
  static Graph Transposed(std::string_view type, std::string_view perm) {
    return GraphWithWeights(absl::StrCat("g (", type, " x) => (y) { t = Transpose<perm = ", perm,
                                         ">(x) y = Relu(t) }"));
  }
};

TEST_F(ViewTransposeTest, BringsImagesFromOneOrderToTheOtherForNothing) {
  const Graph graph = Transposed("float[1,4,5,3]", "[0,3,1,2]");
  EXPECT_EQ(LinesAt(graph, "Transpose"), Lines({"{Transpose} rows > last"}));
  EXPECT_EQ(At(graph, "Transpose").candidates[0].cost.us, 0);
  const Graph back = Transposed("float[1,3,4,5]", "[0,2,3,1]");
  EXPECT_EQ(LinesAt(back, "Transpose"), Lines({"{Transpose} last > rows"}));
}

TEST_F(ViewTransposeTest, KeepsRowsWhereOnlyExtentsOfOneMove) {
  const Graph graph = GraphWithWeights(R"(
      g (float[1,8,4,4] x) => (y)
      { t = Transpose<perm = [1,0,2,3]>(x)
        u = Transpose<perm = [1,0,2,3]>(t)
        y = Relu(u) })");
  EXPECT_EQ(LinesAt(graph, "Transpose"), Lines({"{Transpose} rows > rows"}));
}

TEST_F(ViewTransposeTest, LeavesOrdersThatNoEngineProposes) {
  const Graph graph = Transposed("float[2,3,4,5]", "[0,1,3,2]");
  EXPECT_EQ(At(graph, "Transpose").reasons, Lines({"it moves bytes"}));
}

TEST_F(ViewTransposeTest, KeepsChannelsLastWhereAnAxisOfOneGoesOrComes) {
  const Graph graph = GraphWithWeights(R"(
      g (float[2,8,1,5] x) => (y) <int64[1] a = {2}>
      { s = Squeeze(x, a)
        u = Unsqueeze(s, a)
        y = Relu(u) })");
  const Lines squeezed = LinesAt(graph, "Squeeze"), unsqueezed = LinesAt(graph, "Unsqueeze");
  EXPECT_EQ(squeezed, Lines({"{Squeeze} rows > rows", "{Squeeze} last > last"}));
  EXPECT_EQ(unsqueezed, Lines({"{Unsqueeze} rows > rows", "{Unsqueeze} last > last"}));
}

TEST_F(ViewTransposeTest, ReshapesThatMixChannelsAndPixelsAreRowMajor) {
  for (const char* dims : {"{2, 24, 5}", "{2, 5, 24}", "{4, 4, 15}"}) {
    const Graph graph = GraphWithWeights(absl::StrCat(
        "g (float[2,8,3,5] x) => (y) <int64[3] d = ", dims, "> { r = Reshape(x, d) y = Relu(r) }"));
    EXPECT_EQ(LinesAt(graph, "Reshape"), Lines({"{Reshape} rows > rows"})) << dims;
  }
}

TEST_F(ViewTransposeTest, ReshapesOfPixelsAloneKeepChannelsLast) {
  const Graph graph = GraphWithWeights(R"(
      g (float[2,8,3,5] x) => (y) <int64[3] d = {2, 8, 15}, int64[4] e = {2, 8, 5, 3}>
      { r = Reshape(x, d)
        s = Relu(r)
        u = Reshape(s, e)
        y = Relu(u) })");
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() != "Reshape") continue;
    EXPECT_EQ(Describe(At(graph, *node).candidates),
              Lines({"{Reshape} rows > rows", "{Reshape} last > last"}));
  }
}

// The patches of a vision transformer: what the convolution writes is the sequence already.
TEST_F(ViewTransposeTest, PatchesOfAnImageAreATransposedSequence) {
  const Graph graph = GraphWithWeights(R"(
      g (float16[2,8,8,8] x, float16[16,8,4,4] w, float16[2,4,16] p) => (y) <int64[3] d = {2, 16, 4}>
      { c = Conv<kernel_shape = [4,4], strides = [4,4]>(x, w)
        r = Reshape(c, d)
        t = Transpose<perm = [0,2,1]>(r)
        y = Add(t, p) })");
  const auto program = ExpectRunsLikeEvaluate(graph, {}, target_, CostSearch);
  ASSERT_NE(program, nullptr);
  const std::string partitions = Partitions(*program);
  EXPECT_NE(partitions.find("view {Reshape}"), std::string::npos) << partitions;
  EXPECT_NE(partitions.find("view {Transpose}"), std::string::npos) << partitions;
}

TEST_F(ViewTransposeTest, RefusesEqualFormatsOfEqualDims) {
  const Graph graph = Transposed("float[1,3,3,3]", "[0,3,1,2]");
  Candidate candidate = At(graph, "Transpose").candidates[0];
  candidate.outputs = candidate.inputs;
  EXPECT_EQ(engine_->Check(graph, candidate, target_).reason(), "its formats differ");
}

TEST_F(ViewTransposeTest, GivesItsBytesToNoConcat) {
  const Graph graph = GraphWithWeights(R"(
      g (float[1,4,4,4] x, float[1,4,4,4] z) => (y)
      { t = Transpose<perm = [0,3,1,2]>(x)
        n = Neg(z)
        c = Concat<axis = 1>(n, t)
        y = Relu(c) })");
  EXPECT_EQ(At(graph, "Concat").reasons, Lines({"input t shows the bytes of another value"}));
}

TEST_F(ViewTransposeTest, FramesAConvolutionInItsProgram) {
  const Graph graph = GraphWithWeights(R"(
      g (float[1,4,4,8] x, float[8,8,3,3] w) => (float[1,4,4,8] y)
      { t = Transpose<perm = [0,3,1,2]>(x)
        c = Conv<pads = [1,1,1,1]>(t, w)
        r = Transpose<perm = [0,2,3,1]>(c)
        y = Softmax(r) })");
  for (const Partitioner partitioner : {Greedy, CostSearch}) {
    const auto program = ExpectRunsLikeEvaluate(graph, {}, target_, partitioner);
    ASSERT_NE(program, nullptr);
    const std::string partitions = Partitions(*program);
    EXPECT_TRUE(partitions.starts_with("view {Transpose}")) << partitions;
    for (const char* mover : {"kernel {Transpose}", "Reformat"}) {
      EXPECT_EQ(partitions.find(mover), std::string::npos) << partitions;
    }
  }
}

TEST_F(ViewTransposeTest, ASqueezedImageIsATransposedSequence) {  // as CTC heads have it
  const Graph graph = GraphWithWeights(R"(
      g (float[1,4,2,8] x, float[8,4,2,1] w) => (float[1,8,8] y) <int64[1] a = {2}>
      { c = Conv(x, w)
        s = Squeeze(c, a)
        t = Transpose<perm = [0,2,1]>(s)
        y = Softmax(t) })");
  for (const Partitioner partitioner : {Greedy, CostSearch}) {
    const auto program = ExpectRunsLikeEvaluate(graph, {}, target_, partitioner);
    ASSERT_NE(program, nullptr);
    const std::string partitions = Partitions(*program);
    EXPECT_NE(partitions.find("view {Squeeze}"), std::string::npos) << partitions;
    EXPECT_NE(partitions.find("view {Transpose}"), std::string::npos) << partitions;
  }
}

}  // namespace
}  // namespace onnx_cudnn
