// Which products of few rows small_batch_matmul supports, and its price.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

using SmallBatchMatMulTest = KernelsTest;

TEST_F(SmallBatchMatMulTest, TakesBiasResidualAndActivation) {
  ExpectCases({
      {"the first half of an MLP",
       "g (float16[1,128,64] x, float16[64,256] w, float16[256] wb) => (y) "
       "{ t = MatMul(x, w) u = Add(wb, t) y = Gelu(u) }",
       "MatMul", "{MatMul Add Gelu}"},
      {"its second half",
       "g (bfloat16[1,128,256] x, bfloat16[256,64] w, bfloat16[64] wb, bfloat16[1,128,64] r) => (y)"
       " { t = MatMul(x, w) u = Add(t, wb) y = Add(r, u) }",
       "MatMul", "{MatMul Add Add}"},
      {"a Gemm with its bias",
       "g (float16[20,64] x, float16[32,64] w, float16[32] wb, float16[20,32] r) => (y) "
       "{ t = Gemm<transB = 1>(x, w, wb) u = Add(t, r) y = Relu(u) }",
       "Gemm", "{Gemm Add Relu}"},
  });
}

TEST_F(SmallBatchMatMulTest, ReportsWhatItDoesNotFuse) {
  const std::string formula = "it computes activation(x·w + bias + residual), with any part absent";
  const auto stops = [&](const std::string& text, const std::string& taken) {
    ExpectCases({{text,
                  absl::StrCat("g (float16[20,64] x, float16[64,32] w, float16[32] wb, "
                               "float16[20,32] r, float16[1,32] s) => (y) { t = MatMul(x, w) ",
                               text, " }"),
                  "MatMul", taken, formula}});
  };
  stops("u = Tanh(t) y = Add(u, wb)", "{MatMul Tanh}");
  stops("u = Add(t, r) y = Add(u, r)", "{MatMul Add}");
  stops("u = Add(t, r) y = Add(u, wb)", "{MatMul Add}");
  stops("y = Add(t, s)", "{MatMul}");
  stops("y = Mul(t, r)", "{MatMul}");
  stops("y = Cast<to = 1>(t)", "{MatMul}");
}

TEST_F(SmallBatchMatMulTest, LeavesOtherProducts) {
  const auto leaves = [&](const std::string& text, const std::string& op, const std::string& says) {
    ExpectCases(
        {{says, text, op, absl::StrCat("{", op, "}"), absl::StrCat("small_batch_matmul: ", says)}});
  };
  leaves("g (float16[20,64] x, float16[64,32] v) => (y) { y = MatMul(x, v) }", "MatMul",
         "v is not a constant matrix");
  leaves("g (float16[20,24] x, float16[24,32] w) => (y) { y = MatMul(x, w) }", "MatMul",
         "its depth 24 is no multiple of 16 or its 32 columns are none of 32");
  leaves("g (float16[20,32] x, float16[32,48] w) => (y) { y = MatMul(x, w) }", "MatMul",
         "its depth 32 is no multiple of 16 or its 48 columns are none of 32");
  leaves("g (float16[16,20] x, float16[16,32] w) => (y) { y = Gemm<transA = 1>(x, w) }", "Gemm",
         "its input 0 is transposed");
  leaves("g (float16[20,16] x, float16[16,32] w) => (y) { y = Gemm<alpha = 2.0>(x, w) }", "Gemm",
         "alpha or beta is not 1");
}

// A product of BERT-base at batch 1, and the same one of 64 sentences, beyond the fit.
TEST_F(SmallBatchMatMulTest, CostsMoreThanLibrariesBeyondItsFit) {
  const auto cost_of = [&](const Engine& engine, int64_t rows) {
    Graph graph;
    Value& x = graph.AddInput("x", Type::Tensor(DType::kF16, {rows, 768}));
    Append(graph, "MatMul", {&x, &Weights(graph, DType::kF16, {768, 2304})});
    graph.AddOutput("y", *graph.TopologicalOrder()[0]->outputs()[0]);
    const Node& node = FindNode(graph, "MatMul");
    return ProposedBy(engine, graph, node, target_).candidates.at(0).cost.us;
  };
  const Engine& gemm = *std::ranges::find(target_.engines, "gemm", &Engine::name)[0];
  EXPECT_LT(cost_of(*engine_, 128), 2 * cost_of(gemm, 128));
  EXPECT_GT(cost_of(*engine_, 8'192), 2 * cost_of(gemm, 8'192));
}

}  // namespace
}  // namespace onnx_cudnn
