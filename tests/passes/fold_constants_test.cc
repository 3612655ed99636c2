#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/verify.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(FoldConstantsTest, ComputesAnOpOfConstants) {
  ExpectRewrite(FoldConstants(), R"(
      g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {10, 20}>
      { t = Add(a, b)
        y = Mul(x, t) })",
                "g (f32[2] x) => (f32[2] y) { y = Mul(x, {11, 22}) }");
}

// Weight standardization as exporters write it: a training BatchNormalization over the filters.
TEST(FoldConstantsTest, StandardizesWeights) {
  ExpectRewrite(FoldConstants(), R"(
      g (float[1,1,4,4] x) => (float[1,2,4,3] y)
        <float[2,1,1,2] w = {1, 3, 5, 9}, int64[3] flat = {1, 2, -1}, int64[4] dims = {2, 1, 1, 2},
         float[2] one = {1, 1}, float[2] zero = {0, 0}>
      { f = Reshape(w, flat)
        n, m, v = BatchNormalization<training_mode = 1, epsilon = 0.0>(f, one, zero, zero, one)
        s = Reshape(n, dims)
        y = Conv(x, s) })",
                "g (f32[1,1,4,4] x) => (f32[1,2,4,3] y) { y = Conv(x, {-1, 1, -1, 1}) }");
}

TEST(FoldConstantsTest, FollowsAChain) {
  ExpectRewrite(FoldConstants(), R"(
      g (float[2] x) => (float[2] y) <float[2] a = {1, 2}>
      { t = Neg(a)
        u = Add(t, a)
        v = Sub(u, a)
        y = Mul(x, v) })",
                "g (f32[2] x) => (f32[2] y) { y = Mul(x, {-1, -2}) }");
}

TEST(FoldConstantsTest, ComputesStringsAndTheirNumber) {
  ExpectRewrite(FoldConstants(), R"(
      g () => (string[N] y)
      { c = Constant<value_strings = ["a", "the"]>()
        y = StringNormalizer<stopwords = ["the"]>(c) })",
                "g () => (string[1] y = {\"a\"}) { }");
}

TEST(FoldConstantsTest, LeavesStringsAboveTheLimit) {  // 32 MB as objects
  ExpectNoRewrite(FoldConstants(), R"(
      g () => (string[1000000] y)
      { c = Constant<value_strings = ["a"]>()
        n = Constant<value_ints = [1000000]>()
        y = Tile(c, n) })",
                  "its op refuses these constants");
}

TEST(FoldConstantsTest, KnowsTheShapeOfAStaticValue) {
  ExpectRewrite(FoldConstants(), R"(
      g (float[2,3] x) => (int64[2] y, int64 n, int64[1] last)
      { y = Shape(x)
        n = Size(x)
        last = Shape<start = -1>(x) })",
                "g (f32[2,3] x) => (i64[2] y = {2, 3}, i64[] n = {6}, i64[1] last = {3}) { }");
}

TEST(FoldConstantsTest, KnowsTheNumbersAmongSymbols) {
  ExpectRewrite(FoldConstants(), "g (float[N,3] x) => (int64[1] y) { y = Shape<start = 1>(x) }",
                "g (f32[N,3] x) => (i64[1] y = {3}) { }");
}

TEST(FoldConstantsTest,
     InfersWhatBecomesKnown) {  // a Reshape whose target is computed from a shape
  ExpectRewrite(
      FoldConstants(), R"(
      g (float[2,3] x) => (float[3,2] y) <float[6] w = {1, 2, 3, 4, 5, 6}, int64[2] i = {1, 0}>
      { s = Shape(x)
        r = Gather(s, i)
        t = Reshape(w, r)
        u = Transpose(x)
        y = Add(t, u) })",
      R"(g (f32[2,3] x) => (f32[3,2] y) { u = Transpose(x) y = Add({1, 2, 3, 4, 5, 6}, u) })");
}

TEST(FoldConstantsTest, ComputesWhatDependsOnElements) {
  ExpectRewrite(FoldConstants(), R"(
      g (float[2,3] x) => (float[N,M] y) <float[2,2] w = {0, 5, 6, 0}>
      { i = NonZero(w)
        t = Transpose(i)
        y = GatherND(x, t) })",
                "g (f32[2,3] x) => (f32[?] y) { y = GatherND(x, {0, 1, 1, 0}) }");
}

TEST(FoldConstantsTest, ComputesOnlyTheOutputsThatAreThere) {
  ExpectRewrite(FoldConstants(), R"(
      g () => (float[N] y, int64[M] counts) <float[3] w = {7, 3, 7}>
      { y, none, inverse, counts = Unique(w) })",
                "g () => (f32[2] y = {3, 7}, i64[2] counts = {1, 2}) { }");
}

TEST(FoldConstantsTest, ComputesASelectionOfStrings) {
  ExpectRewrite(FoldConstants(), R"(
      g () => (string[N] y) <bool[3] kept = {1, 0, 1}>
      { c = Constant<value_strings = ["a", "b", "c"]>()
        y = Compress(c, kept) })",
                "g () => (string[2] y = {\"a\", \"c\"}) { }");
}

TEST(FoldConstantsTest, LeavesWhatAnOpRefuses) {  // one true too many
  ExpectNoRewrite(FoldConstants(), R"(
      g () => (float[N] y) <float[2] w = {1, 2}, bool[3] kept = {1, 0, 1}>
      { y = Compress(w, kept) })",
                  "its op refuses these constants");
}

TEST(FoldConstantsTest, FoldsInsideBodies) {
  ExpectRewrite(FoldConstants(), R"(
      g (bool c, float[2] x) => (float[2] y)
      { y = If(c) <
          then_branch = a () => (float[2] p) <float[2] k = {1, 2}> { t = Neg(k) p = Add(x, t) },
          else_branch = b () => (float[2] q) { q = Neg(x) }> })",
                R"(g (bool[] c, f32[2] x) => (f32[2] y) { y = If<
          else_branch = b (f32[2] x) => (f32[2] q) { q = Neg(x) },
          then_branch = a (f32[2] x) => (f32[2] p) { p = Add(x, {-1, -2}) } >(c, x) })");
}

TEST(FoldConstantsTest, LeavesAShapeWithASymbol) {
  ExpectNoRewrite(FoldConstants(), "g (float[N,3] x) => (int64[2] y) { y = Shape(x) }",
                  "the input's shape is not known");
}

TEST(FoldConstantsTest, LeavesRandomNumbers) {
  ExpectNoRewrite(FoldConstants(), R"(
      g (float[2] x) => (float[2] y) <float[2] a = {1, 2}>
      { t = RandomNormalLike(a)
        y = Add(x, t) })",
                  "its result is random");
}

TEST(FoldConstantsTest, LeavesStoredWeightsQuantized) {
  ExpectNoRewrite(FoldConstants(), R"(
      g (float[2] x) => (float[2] y) <int8[2] a = {1, 2}, float s = {0.5}>
      { t = DequantizeLinear(a, s)
        y = Add(x, t) })",
                  "stored weights stay quantized");
}

TEST(FoldConstantsTest, LeavesPetabytes) {
  ExpectNoRewrite(FoldConstants(), R"(
      g (float[1] x) => (float[N,M] y) <int64[2] s = {1000000, 1000000000}>
      { t = ConstantOfShape(s)
        y = Add(x, t) })",
                  "larger than the limit of one folded value");
}

TEST(FoldConstantsTest, LeavesWhatTheReferenceRefuses) {  // index 5 of 2
  ExpectNoRewrite(FoldConstants(), R"(
      g (float[1] x) => (float[1] y) <float[2] a = {1, 2}, int64[1] i = {5}>
      { t = Gather(a, i)
        y = Add(x, t) })",
                  "its reference refuses these constants");
}

// Tile of f32[1000] to f32[1000 · times].
Graph TiledGraph(int64_t times) {
  Graph graph;
  Value& a = graph.AddConstant(
      HostTensor::Of<float>(DType::kF32, {1000}, std::vector<float>(1000, 1.0f)), "a");
  Value& repeats = graph.AddConstant(HostTensor::Ints({times}), "r");
  Node& tile = graph.AddNode({.op = "Tile", .inputs = {&a, &repeats}});
  graph.AddOutput("y", tile.output(0));
  return graph;
}

TEST(FoldConstantsTest, HoldsToTheLimitOfOneValue) {
  PassContext context{.limits = {.folded_value_bytes = 10000}};
  Graph small = TiledGraph(2), large = TiledGraph(3);
  EXPECT_TRUE(*FoldConstants()->Run(small, context));
  EXPECT_FALSE(*FoldConstants()->Run(large, context));
}

// 8 indices per byte of a tensor of rank 1.
TEST(FoldConstantsTest, HoldsToTheLimitOfWhatDependsOnElements) {
  for (const int64_t elements : {100, 1000}) {
    Graph graph;
    const std::vector<uint8_t> ones(elements, 1);
    Value& x = graph.AddConstant(HostTensor::Of<uint8_t>(DType::kU8, {elements}, ones), "x");
    graph.AddOutput("y", graph.AddNode({.op = "NonZero", .inputs = {&x}}).output(0));
    PassContext context{.limits = {.folded_value_bytes = 1000}};
    EXPECT_EQ(*FoldConstants()->Run(graph, context), elements == 100);
  }
}

TEST(FoldConstantsTest, HoldsToTheLimitOfAllValues) {
  PassContext context{.limits = {.folded_bytes = 10000}};
  const std::unique_ptr<Pass> pass = FoldConstants();
  Graph first = TiledGraph(2), second = TiledGraph(2);
  EXPECT_TRUE(*pass->Run(first, context));
  EXPECT_FALSE(*pass->Run(second, context));
}

TEST(FoldConstantsTest, FreesWhatItReplacedAtOnce) {
  auto bytes = std::make_shared<std::vector<float>>(16, 1.0f);
  const std::weak_ptr<std::vector<float>> alive = bytes;
  Graph graph;
  const void* data = bytes->data();
  Value& a = graph.AddConstant(HostTensor::Borrow(DType::kF32, {16}, data, std::move(bytes)));
  Node& neg = graph.AddNode({.op = "Neg", .inputs = {&a}});
  graph.AddOutput("y", neg.output(0));
  PassContext context;
  EXPECT_TRUE(*FoldConstants()->Run(graph, context));
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(graph.node_count(), 0);
}

TEST(FoldConstantsTest, ReshapesWithoutACopy) {
  Graph graph = GraphFromText(
      "g () => (float[2,2] y) <float[4] a = {1, 2, 3, 4}, int64[2] s = {2, 2}> { y = Reshape(a, s) "
      "}");
  const void* bytes = graph.TopologicalOrder()[0]->input(0).constant().raw();
  PassContext context;
  EXPECT_TRUE(*FoldConstants()->Run(graph, context));
  EXPECT_EQ(graph.outputs()[0].value->constant().raw(), bytes);
}

}  // namespace
}  // namespace onnx_cudnn
