// Which Concats join channels in place, and where their inputs lie.
#include "runtime/plan/interleaved.h"

#include "gtest/gtest.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

std::string FormatOf(const Graph& graph, std::string_view name) {
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->output(0).name() != name) continue;
    const std::optional<Format> format = InterleavedFormat(node->output(0));
    return format.has_value() ? format->ToString() : "none";
  }
  return "no such value";
}

TEST(InterleavedTest, APartHasTheLanesOfTheWholeBetweenItsPixels) {
  const Graph graph = GraphWithWeights(R"(
      g (float16[2,8,3,5] x) => (y)
      { a = Relu(x) b = Neg(x) t = Concat<axis = -3>(a, b) y = Relu(t) })");
  EXPECT_EQ(FormatOf(graph, "a"), "0:2 2:3 3:5 1:8^16");
  EXPECT_EQ(FormatOf(graph, "b"), "0:2 2:3 3:5 1:8^16");
  EXPECT_EQ(FormatOf(graph, "t"), "none");
  EXPECT_EQ(FormatOf(graph, "y"), "none");
}

TEST(InterleavedTest, TheOutermostOfNestedConcatsIsTheWhole) {
  const Graph graph = GraphWithWeights(R"(
      g (float16[1,8,4,4] x) => (y, z)
      { a = Relu(x) b = Neg(x) t = Concat<axis = 1>(a, b) z = Neg(t)
        c = Abs(x) u = Concat<axis = 1>(t, c)
        d = Sigmoid(x) v = Concat<axis = 1>(u, d) y = Relu(v) })");
  for (const char* part : {"a", "b", "c", "d"}) {
    EXPECT_EQ(FormatOf(graph, part), "2:4 3:4 1:8^32") << part;
  }
  EXPECT_EQ(FormatOf(graph, "t"), "2:4 3:4 1:16^32");
  EXPECT_EQ(FormatOf(graph, "u"), "2:4 3:4 1:24^32");
  EXPECT_EQ(FormatOf(graph, "v"), "none");
}

TEST(InterleavedTest, AConcatThatIsAGraphOutputIsNoWhole) {
  const Graph graph = GraphWithWeights(R"(
      g (float16[1,8,4,4] x) => (u)
      { a = Relu(x) b = Neg(x) t = Concat<axis = 1>(a, b)
        c = Relu(t) d = Abs(x) u = Concat<axis = 1>(t, d) })");
  EXPECT_EQ(FormatOf(graph, "a"), "2:4 3:4 1:8^16");
  EXPECT_EQ(FormatOf(graph, "t"), "none");
  EXPECT_EQ(FormatOf(graph, "d"), "none");
}

TEST(InterleavedTest, PartsOfOnePixelAreContiguous) {
  const Graph graph = GraphWithWeights(R"(
      g (float16[1,8,1,1] x) => (y)
      { a = Relu(x) b = Neg(x) t = Concat<axis = 1>(a, b) y = Relu(t) })");
  EXPECT_EQ(FormatOf(graph, "a"), "none");
}

TEST(InterleavedTest, SaysWhyAConcatCopies) {
  const struct {
    const char *text, *reason;
  } cases[] = {
      {"a = Relu(x) b = Neg(x) t = Concat<axis = 2>(a, b) y = Relu(t)",
       "it does not join channels of images"},
      {"a = Relu(x) b = Neg(x) y = Concat<axis = 1>(a, b)", "its output is a graph output"},
      {"a = Relu(x) t = Concat<axis = 1>(a, x) y = Relu(t)", "input x is not the output of a node"},
      {"a = Relu(x) t = Concat<axis = 1>(a, w) y = Relu(t)", "input c is not the output of a node"},
      {"a = Relu(x) t = Concat<axis = 1>(a, a) y = Relu(t)", "input a is in it twice"},
      {"a = Relu(x) b = Identity(a) t = Concat<axis = 1>(a, b) y = Relu(t)",
       "input b shows the bytes of another value"},
      {"a = Relu(x) n = Neg(s) t = Concat<axis = 1>(a, n) y = Relu(t)",
       "its pixels have 24 bytes, no multiple of 16"},
      {"n = Neg(s) m = Abs(s) a = Relu(x) t = Concat<axis = 1>(n, a, m) y = Relu(t)",
       "input a would begin at byte 8 of a pixel, no multiple of 16"},
  };
  for (const auto& [text, reason] : cases) {
    const Graph graph = GraphWithWeights(
        "g (float16[1,8,4,4] x, float16[1,4,4,4] s, float16[1,8,4,4] w) => (y) { " +
        std::string(text) + " }");
    EXPECT_EQ(CheckInterleaves(FindNode(graph, "Concat")).reason(), reason) << text;
  }
}

TEST(InterleavedTest, AValueLiesInTheFirstConcatOnly) {
  const Graph graph = GraphWithWeights(R"(
      g (float16[1,8,4,4] x) => (y, z)
      { a = Relu(x) b = Neg(x) c = Abs(x)
        t = Concat<axis = 1>(a, b) u = Concat<axis = 1>(c, a) y = Relu(t) z = Relu(u) })");
  EXPECT_EQ(FormatOf(graph, "a"), "2:4 3:4 1:8^16");
  EXPECT_EQ(FormatOf(graph, "b"), "2:4 3:4 1:8^16");
  EXPECT_EQ(FormatOf(graph, "c"), "none");
}

TEST(InterleavedTest, FindsThePitchOfPixels) {
  const Dims dims = {1, 6, 4, 4};
  const auto pitched = [](int64_t channels, int64_t pitch) {
    return Format::Of({{2, 1, 4, 4}, {3, 1, 4, 4}, {1, 1, channels, pitch}});
  };
  EXPECT_EQ(PixelPitch(Format::ChannelsLast(dims), dims), 6);
  EXPECT_EQ(PixelPitch(Format::ChannelsLast(dims, 4), dims, 4), 8);
  EXPECT_EQ(PixelPitch(pitched(6, 20), dims), 20);
  EXPECT_EQ(PixelPitch(pitched(5, 20), dims), std::nullopt);
  EXPECT_EQ(PixelPitch(Format::RowMajor(dims), dims), std::nullopt);
  EXPECT_EQ(PixelPitch(Format::Of({{2, 1, 4, 4}, {3, 1, 4, 5}, {1, 1, 6, 6}}), dims), std::nullopt);
}

}  // namespace
}  // namespace onnx_cudnn
