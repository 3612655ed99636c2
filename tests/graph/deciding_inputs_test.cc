#include "runtime/graph/deciding_inputs.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

std::vector<int> Deciding(std::string_view text) {
  Graph graph = GraphFromText(text);
  const absl::StatusOr<std::vector<int>> places = InputsThatDecideShapes(graph);
  EXPECT_TRUE(places.ok()) << places.status();
  return places.value_or(std::vector<int>{});
}

TEST(DecidingInputsTest, FindsInputsThatDecideShapes) {
  EXPECT_EQ(Deciding(R"(
      g (float[N,4] x, int64[2] shape, int64[1] axes, float[2] y) => (float[A,B] z, float[C,D] w)
      { n = Shape(x)
        s = Mul(shape, n)
        z = Reshape(x, s)
        u = Unsqueeze(y, axes)
        w = Relu(u) })"),
            (std::vector<int>{1, 2}));
}

TEST(DecidingInputsTest, FindsThePartsOfAnUnknownExtent) {
  EXPECT_EQ(Deciding("g (float[N] x, int64[2] parts) => (float[A] y, float[B] z)"
                     " { y, z = Split(x, parts) }"),
            (std::vector<int>{1}));
}

TEST(DecidingInputsTest, FindsLengthsAndStepsOfTransforms) {
  EXPECT_EQ(Deciding(R"(
      g (float[8,1] x, int64 length, int64 axis) => (float[A,2] y) { y = DFT(x, length, axis) })"),
            (std::vector<int>{1, 2}));
  EXPECT_EQ(Deciding(R"(
      g (float[1,16,1] x, int32 step, float[8] window) => (float[A,B,C,D] y)
      { y = STFT(x, step, window) })"),
            (std::vector<int>{1}));
}

TEST(DecidingInputsTest, FindsSingleElementsThatDecideAnIf) {  // a sum of elements does not count
  EXPECT_EQ(Deciding(R"(
      g (float[8] x, int64 rate, int64[1] mode) => (float[8] y) <int64 r = {16000}>
      { c = Equal(rate, r)
        sum = ReduceSum<keepdims = 0>(x)
        d = Cast<to = 9>(sum)
        e = Cast<to = 9>(mode)
        both = Or(c, d)
        y = If(both) <
          then_branch = t () => (float[8] u) { u = If(e) <
            then_branch = tt () => (float[8] a) { a = Neg(x) },
            else_branch = te () => (float[8] b) { b = Abs(x) }> },
          else_branch = f () => (float[8] v) { v = Identity(x) }> })"),
            (std::vector<int>{1, 2}));
}

TEST(DecidingInputsTest, NamesWhatDecidesAShape) {
  Graph graph = GraphFromText(
      "g (float[4] x, int64[2] s) => (float[A,B] y) { t = Neg(s) y = Reshape(x, t) }");
  Node& reshape = *graph.outputs()[0].value->producer();
  EXPECT_EQ(UnknownDeciders(graph, reshape), (std::vector<const Value*>{&reshape.input(1)}));
  EXPECT_TRUE(UnknownDeciders(graph, *reshape.input(1).producer()).empty());
}

}  // namespace
}  // namespace onnx_cudnn
