// Which products with few rows the matrix-vector kernel supports, and their prices.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

using GemvTest = KernelsTest;

TEST_F(GemvTest, TakesCastBiasReluAndCast) {
  ExpectCases({
      {"the tail of a network",
       "g (float[1,16] x, float16[5,16] w, float16[5] wb) => (y) "
       "{ h = Cast<to = 10>(x) t = Gemm<transB = 1>(h, w, wb) y = Cast<to = 1>(t) }",
       "Gemm", "{Cast Gemm Cast}"},
      {"a bias behind a MatMul",
       "g (bfloat16[1,3,8] x, bfloat16[8,6] w, bfloat16[6] wb) => (y) "
       "{ t = MatMul(x, w) u = Add(wb, t) v = Relu(u) y = Cast<to = 1>(v) }",
       "MatMul", "{MatMul Add Relu Cast}"},
      {"a bias of one row",
       "g (float[1,4] x, float[4,6] w, float[1,6] wb) => (y) { t = Gemm(x, w, wb) y = Relu(t) }",
       "Gemm", "{Gemm Relu}"},
      {"a vector", "g (float[4] x, float[4,6] w) => (y) { t = MatMul(x, w) y = Relu(t) }", "MatMul",
       "{MatMul Relu}"},
  });
}

TEST_F(GemvTest, ReportsWhatItDoesNotFuse) {
  const std::string formula = "it computes cast(relu(x·w + bias)), with any part absent";
  ExpectCases({
      {"other activations",
       "g (float[1,4] x, float[4,6] w) => (y) { t = MatMul(x, w) y = Tanh(t) }", "MatMul",
       "{MatMul}", formula},
      {"a second bias",
       "g (float[1,4] x, float[4,6] w, float[6] wb) => (y) { t = Gemm(x, w, wb) y = Add(t, wb) }",
       "Gemm", "{Gemm}", formula},
      {"a residual",
       "g (float[1,4] x, float[4,6] w, float[1,6] r) => (y) { t = MatMul(x, w) y = Add(t, r) }",
       "MatMul", "{MatMul}", formula},
      {"Relu behind the cast",
       "g (float16[1,8] x, float16[8,6] w) => (y) { t = MatMul(x, w) u = Cast<to = 1>(t) y = "
       "Relu(u) }",
       "MatMul", "{MatMul Cast}", formula},
      {"a product that others read",
       "g (float[1,4] x, float[4,6] w) => (t, y) { t = MatMul(x, w) y = Relu(t) }", "MatMul",
       "{MatMul}", "it writes one result, and this value has other readers"},
      {"what is done to the rows before",
       "g (float[1,4] x, float[4,6] w) => (y) { h = Tanh(x) y = MatMul(h, w) }", "MatMul",
       "{MatMul}", "only a Cast of its rows from f32 is done before the product"},
  });
}

TEST_F(GemvTest, LeavesOtherProducts) {  // to the kernel `matmul`
  const auto leaves = [&](const std::string& text, const std::string& op, const std::string& says) {
    ExpectCases({{says, text, op, absl::StrCat("{", op, "}"), absl::StrCat("gemv: ", says)}});
  };
  leaves("g (float[9,4] x, float[4,6] w) => (y) { y = MatMul(x, w) }", "MatMul",
         "9 rows are more than 8");
  leaves("g (float[3,3,4] x, float[4,6] w) => (y) { y = MatMul(x, w) }", "MatMul",
         "9 rows are more than 8");
  leaves("g (float16[1,12] x, float16[12,6] w) => (y) { y = MatMul(x, w) }", "MatMul",
         "a depth of 12 is no multiple of 16 bytes");
  leaves("g (float[1,4] x, float[4,6] v) => (y) { y = MatMul(x, v) }", "MatMul",
         "v is not a constant matrix");
  leaves("g (float[4,1] x, float[4,6] w) => (y) { y = Gemm<transA = 1>(x, w) }", "Gemm",
         "its input 0 is transposed");
  leaves("g (float[1,4] x, float[4,6] w) => (y) { y = Gemm<alpha = 2.0>(x, w) }", "Gemm",
         "alpha or beta is not 1");
  leaves("g (float[1,4] x, float[4,6] w, float[6] wb) => (y) { y = Gemm<beta = 2.0>(x, w, wb) }",
         "Gemm", "alpha or beta is not 1");
  leaves("g (float[1,4] x, float[4,6] w, float[6] c) => (y) { y = Gemm(x, w, c) }", "Gemm",
         "c is not a constant of one number a column");
}

TEST_F(GemvTest, IsPricedByItsWeights) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {1, 2048}));
  Value& w = Weights(graph, DType::kF16, {1000, 2048});
  Append(graph, "Gemm", {&x, &w}, {{"transB", int64_t{1}}});
  graph.AddOutput("y", *graph.TopologicalOrder()[0]->outputs()[0]);
  const Cost cost = At(graph, "Gemm").candidates[0].cost;
  EXPECT_NEAR(cost.us, 2 + 2.0 * 1000 * 2048 / 3e6, 0.01);
}

}  // namespace
}  // namespace onnx_cudnn
