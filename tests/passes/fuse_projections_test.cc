#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/float16.h"
#include "tests/support/graph_text.h"
#include "tests/support/proposed.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// Two heads of 8 channels from rows of 4.
constexpr std::string_view kConstants =
    "int64[4] heads = {2, 16, 2, 8}, int64[4] one = {2, 16, 1, 8}, int64[3] rows = {2, 16, 16}";
constexpr std::string_view kHeads =
    "h = Reshape(a, heads) i = Reshape(b, heads) j = Reshape(c, heads) "
    "q = Transpose<perm = [0,2,1,3]>(h) k = Transpose<perm = [0,2,1,3]>(i) "
    "v = Transpose<perm = [0,2,1,3]>(j) y = Attention(q, k, v) ";
constexpr std::string_view kProducts = "a = MatMul(x, wq) b = MatMul(x, wk) c = MatMul(x, wv) ";

class FuseProjectionsTest : public ::testing::Test {
 protected:
  static Graph Of(std::string_view nodes, std::string_view outputs = "y",
                  std::string_view inputs = "") {
    return GraphWithWeights(
        absl::StrCat("g (float16[2,16,4] x, float16[4,16] wq, float16[4,16] wk, float16[4,16] wv, "
                     "float16[16] wa, float16[16] wb, float16[4,8] ws, float16[4,8] wt",
                     inputs, ") => (", outputs, ") <", kConstants, "> { ", nodes, " }"));
  }

  static RewrittenFor Fuse(const Graph& graph) {
    return RewriteFor("h200", FuseProjections(), graph);
  }
  static int CountOf(const Graph& graph, std::string_view op) {
    int count = 0;
    for (const Node* node : graph.TopologicalOrder()) count += node->op() == op;
    return count;
  }

  // Expects one product instead of several, with the same result.
  static void ExpectOne(const Graph& graph, int slices) {
    const RewrittenFor fused = Fuse(graph);
    ASSERT_TRUE(fused.changed);
    EXPECT_EQ(CountOf(fused.graph, "MatMul"), 1);
    EXPECT_EQ(CountOf(fused.graph, "Slice"), slices);
    ExpectSameHalves(graph, fused.graph);
  }
  static void ExpectStays(const Graph& graph, std::string_view reason = "",
                          std::string_view on = "h200") {
    ExpectNoRewriteFor(on, FuseProjections(), graph, reason);
  }
};

TEST_F(FuseProjectionsTest, ThreeProductsBecomeOne) {
  ExpectOne(Of(absl::StrCat(kProducts, kHeads)), 3);
}

TEST_F(FuseProjectionsTest, BiasesAreJoinedToo) {
  ExpectOne(Of(absl::StrCat("a = MatMul(x, wq) d = MatMul(x, wk) b = Add(d, wa) "
                            "e = MatMul(x, wv) c = Add(wb, e) ",
                            kHeads)),
            3);
}

TEST_F(FuseProjectionsTest, SharedKeysAndValuesAreNarrower) {
  ExpectOne(Of("a = MatMul(x, wq) b = MatMul(x, ws) c = MatMul(x, wt) "
               "h = Reshape(a, heads) i = Reshape(b, one) j = Reshape(c, one) "
               "q = Transpose<perm = [0,2,1,3]>(h) k = Transpose<perm = [0,2,1,3]>(i) "
               "v = Transpose<perm = [0,2,1,3]>(j) y = Attention(q, k, v)"),
            3);
}

// Every weight as numbers of four bits, [columns, depth], with one scale for each column.
Graph WithQuantizedWeights(Graph graph, DType stored = DType::kU4) {
  uint8_t byte = 1;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->op() != "MatMul") continue;
    const int64_t depth = node->input(1).dim(0), columns = node->input(1).dim(1);
    HostTensor numbers = HostTensor::Allocate(stored, {columns, depth});
    auto* bytes = static_cast<uint8_t*>(numbers.mutable_raw());
    for (int64_t i = 0; i < numbers.bytes(); ++i) bytes[i] = byte += 37;
    HostTensor scales = HostTensor::Allocate(DType::kF16, {columns, 1});
    auto* halves = static_cast<uint16_t*>(scales.mutable_raw());
    for (int64_t i = 0; i < columns; ++i) halves[i] = ToFloat16(i % 3 == 0 ? 0.25f : 0.125f).bits;
    Node& dequantize = graph.AddNode(
        {.op = "DequantizeLinear",
         .inputs = {&graph.AddConstant(std::move(numbers)), &graph.AddConstant(std::move(scales))},
         .attrs = {{"axis", int64_t{1}}, {"block_size", depth}}});
    graph.SetType(dequantize.output(0), Type::Tensor(DType::kF16, {columns, depth}));
    Node& transpose = graph.AddNode({.op = "Transpose",
                                     .inputs = {&dequantize.output(0)},
                                     .attrs = {{"perm", std::vector<int64_t>{1, 0}}}});
    graph.SetType(transpose.output(0), Type::Tensor(DType::kF16, {depth, columns}));
    graph.SetInput(*node, 1, &transpose.output(0));
  }
  return graph;
}

TEST_F(FuseProjectionsTest, WeightsOfFourBitsStaySo) {
  for (const DType stored : {DType::kU4, DType::kI4}) {
    const Graph graph = WithQuantizedWeights(Of(absl::StrCat(kProducts, kHeads)), stored);
    ExpectOne(graph, 3);
    const RewrittenFor fused = Fuse(graph);
    EXPECT_EQ(CountOf(fused.graph, "DequantizeLinear"), 1);
  }
}

TEST_F(FuseProjectionsTest, WeightsOfTwoKindsStayApart) {
  Graph graph = WithQuantizedWeights(Of(absl::StrCat(kProducts, kHeads)));
  const std::vector<Node*> order = graph.TopologicalOrder();
  Node& first = **std::find_if(order.begin(), order.end(),
                               [](Node* node) { return node->op() == "DequantizeLinear"; });
  HostTensor scales = HostTensor::Allocate(DType::kF16, {16, 2});
  std::fill_n(static_cast<uint16_t*>(scales.mutable_raw()), 32, ToFloat16(0.5f).bits);
  graph.SetAttr(first, "block_size", int64_t{2});
  graph.SetInput(first, 1, &graph.AddConstant(std::move(scales)));
  const RewrittenFor fused = Fuse(graph);
  ASSERT_TRUE(fused.changed);
  EXPECT_EQ(CountOf(fused.graph, "MatMul"), 2);
  ExpectSameHalves(graph, fused.graph);
}

TEST_F(FuseProjectionsTest, CrossAttentionJoinsKeysAndValues) {
  const Graph graph =
      Of(absl::StrCat("a = MatMul(z, wq) b = MatMul(x, wk) c = MatMul(x, wv) ", kHeads), "y",
         ", float16[2,16,4] z");
  const RewrittenFor fused = Fuse(graph);
  ASSERT_TRUE(fused.changed);
  EXPECT_EQ(CountOf(fused.graph, "MatMul"), 2);
  ExpectSameHalves(graph, fused.graph);
}

TEST_F(FuseProjectionsTest, ProductsOfOtherAttentionsStayApart) {
  const std::string other =
      absl::StrReplaceAll(kHeads, {{"a,", "d,"},
                                   {"b,", "e,"},
                                   {"c,", "f,"},
                                   {"h =", "h2 ="},
                                   {"i =", "i2 ="},
                                   {"j =", "j2 ="},
                                   {"(h)", "(h2)"},
                                   {"(i)", "(i2)"},
                                   {"(j)", "(j2)"},
                                   {"q =", "q2 ="},
                                   {"k =", "k2 ="},
                                   {"v =", "v2 ="},
                                   {"y = Attention(q, k, v)", "z = Attention(q2, k2, v2)"}});
  const Graph graph = Of(absl::StrCat("a = MatMul(u, wq) b = MatMul(x, wk) c = MatMul(x, wv) "
                                      "d = MatMul(u, wk) e = MatMul(x, wv) f = MatMul(x, wq) ",
                                      kHeads, other),
                         "y, z", ", float16[2,16,4] u");
  const RewrittenFor fused = Fuse(graph);
  ASSERT_TRUE(fused.changed);
  EXPECT_EQ(CountOf(fused.graph, "MatMul"), 4);  // of u, and one for the keys and values of each
  ExpectSameHalves(graph, fused.graph);
}

// Of the queries, an element-wise op reads a copy.
TEST_F(FuseProjectionsTest, JoinsThoseWhosePartsAreReadInPlace) {
  const Graph graph = Of(absl::StrCat(
      kProducts, absl::StrReplaceAll(
                     kHeads, {{"y = Attention(q, k, v)", "r = Relu(q) y = Attention(r, k, v)"}})));
  const RewrittenFor fused = Fuse(graph);
  ASSERT_TRUE(fused.changed);
  EXPECT_EQ(CountOf(fused.graph, "MatMul"), 2);
  EXPECT_EQ(CountOf(fused.graph, "Slice"), 2);
  ExpectSameHalves(graph, fused.graph);
}

// One token: parts are contiguous, whatever reads them.
TEST_F(FuseProjectionsTest, PartsOfOneRowMayBeJoinedToACache) {
  const Graph graph = GraphWithWeights(
      "g (float16[1,1,4] x, float16[1,2,7,8] pk, float16[1,2,7,8] pv, float16[4,16] wq, "
      "float16[4,16] wk, float16[4,16] wv) => (y, k, v) <int64[4] heads = {1, 1, 2, 8}> "
      "{ a = MatMul(x, wq) b = MatMul(x, wk) c = MatMul(x, wv) h = Reshape(a, heads) "
      "i = Reshape(b, heads) j = Reshape(c, heads) q = Transpose<perm = [0,2,1,3]>(h) "
      "l = Transpose<perm = [0,2,1,3]>(i) m = Transpose<perm = [0,2,1,3]>(j) "
      "k = Concat<axis = 2>(pk, l) v = Concat<axis = 2>(pv, m) y = Attention(q, k, v) }");
  ExpectOne(graph, 3);
}

TEST_F(FuseProjectionsTest, LeavesWhatNoEngineReadsInPlace) {
  ExpectStays(
      Of(absl::StrCat(kProducts, absl::StrReplaceAll(kHeads, {{"y = Attention(q, k, v)",
                                                               "r = Relu(q) s = Abs(k) t = Neg(v) "
                                                               "y = Attention(r, s, t)"}}))),
      "no engine reads the parts of one product in place");
}

TEST_F(FuseProjectionsTest, LeavesOtherProducts) {
  // Another reader of one of them.
  ExpectStays(Of(absl::StrCat(kProducts, kHeads), "y, a, b"));
  // Other inputs.
  ExpectStays(
      Of(absl::StrCat("n = Neg(x) m = Abs(x) a = MatMul(n, wq) b = MatMul(m, wk) "
                      "c = MatMul(x, wv) ",
                      kHeads)));
  // Weights that are not constant.
  ExpectStays(Of(absl::StrCat("a = MatMul(x, u) b = MatMul(x, u) c = MatMul(x, wv) ", kHeads), "y",
                 ", float16[4,16] u"));
  // No attention.
  ExpectStays(
      Of("a = MatMul(x, wq) b = MatMul(x, wk) h = Reshape(a, heads) i = Reshape(b, heads) "
         "y = Add(h, i)"));
  // A sum that is no bias: one number per row.
  ExpectStays(Of(absl::StrCat("d = MatMul(x, wq) a = Add(d, u) e = MatMul(x, wk) b = Add(e, u) "
                              "c = MatMul(x, wv) ",
                              kHeads),
                 "y", ", float16[2,16,1] u"));
}

TEST_F(FuseProjectionsTest, LeavesTheProductsToTheCpu) {
  ExpectStays(Of(absl::StrCat(kProducts, kHeads)), "", "cpu");
}

}  // namespace
}  // namespace onnx_cudnn
