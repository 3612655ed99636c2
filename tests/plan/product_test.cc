#include "runtime/plan/product.h"

#include "gtest/gtest.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

struct Answer {
  std::string reason;
  Product product;
};

Answer Ask(std::string_view text) {
  const Graph graph = GraphFromText(text);
  const Node& node = *graph.TopologicalOrder()[0];
  const Support support = CheckProduct(node);
  if (!support) return {support.reason(), {}};
  return {"", ProductOf(node)};
}

TEST(ProductTest, CountsRowsColumnsAndDepth) {
  const Product p = Ask("g (float[2,3,4,8] a, float[8,5] b) => (y) { y = MatMul(a, b) }").product;
  EXPECT_EQ(p.batch, 6);
  EXPECT_EQ(p.rows, 4);
  EXPECT_EQ(p.columns, 5);
  EXPECT_EQ(p.depth, 8);
}

TEST(ProductTest, DepthOfATransposedFactorIsItsRows) {
  const Product p =
      Ask("g (float[8,4] a, float[5,8] b) => (y) { y = Gemm<transA = 1, transB = 1>(a, b) }")
          .product;
  EXPECT_EQ(p.rows, 4);
  EXPECT_EQ(p.columns, 5);
  EXPECT_EQ(p.depth, 8);
}

TEST(ProductTest, VectorsAndPartialBroadcastsAreNone) {
  EXPECT_EQ(Ask("g (float[8] a, float[8,5] b) => (y) { y = MatMul(a, b) }").reason,
            "a is a vector");
  EXPECT_EQ(Ask("g (float[5,8] a, float[8] b) => (y) { y = MatMul(a, b) }").reason,
            "b is a vector");
  EXPECT_EQ(Ask("g (float[2,1,4,8] a, float[1,3,8,5] b) => (y) { y = MatMul(a, b) }").reason,
            "a f32[2,1,4,8] broadcasts over a part of the batch only");
}

}  // namespace
}  // namespace onnx_cudnn
