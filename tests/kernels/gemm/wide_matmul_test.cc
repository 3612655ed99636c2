// Which products of many rows wide_matmul supports.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

using WideMatMulTest = KernelsTest;

TEST_F(WideMatMulTest, TakesBiasAndGelu) {
  ExpectCases({
      {"the first half of an MLP",
       "g (float16[4,197,64] x, float16[64,256] w, float16[256] wb) => (y) "
       "{ t = MatMul(x, w) u = Add(wb, t) y = Gelu(u) }",
       "MatMul", "{MatMul Add Gelu}"},
      {"a Gemm with its bias",
       "g (bfloat16[788,64] x, bfloat16[192,64] w, bfloat16[192] wb) => (y) "
       "{ t = Gemm<transB = 1>(x, w, wb) y = Gelu(t) }",
       "Gemm", "{Gemm Gelu}"},
  });
}

TEST_F(WideMatMulTest, ReportsWhyItRefuses) {
  const auto leaves = [&](const std::string& text, const std::string& says) {
    ExpectCases({{says, text, "MatMul", "{MatMul}", absl::StrCat("wide_matmul: ", says)}});
  };
  leaves("g (float16[200,32] x, float16[32,64] w) => (y) { y = MatMul(x, w) }",
         "its depth 32 or its 64 columns are no multiple of 64");
  leaves("g (float16[200,64] x, float16[64,96] w) => (y) { y = MatMul(x, w) }",
         "its depth 64 or its 96 columns are no multiple of 64");
  leaves("g (float16[200,64] x, float16[64,64] v) => (y) { y = MatMul(x, v) }",
         "v is not a constant matrix");
}

// Gelu by tanh is left to kernels with other activations; both halves of an MLP at batch 32 of
// ViT-B/16.
TEST_F(WideMatMulTest, HasCodeForReluAndGeluByErf) {
  const auto variants_of = [&](const std::string& nodes) {
    const Graph graph =
        GraphWithWeights(absl::StrCat("g (float16[6304,768] x, float16[768,3072] w, float16[3072] "
                                      "wb) => (float16[6304,3072] y) { ",
                                      nodes, " }"));
    const auto order = graph.TopologicalOrder();
    for (const Candidate& candidate : At(graph, "MatMul").candidates) {
      if (candidate.nodes.size() != order.size()) continue;
      const absl::StatusOr<std::vector<Variant>> variants = engine_->Variants(candidate, target_);
      if (!variants.ok()) return int64_t{-1};
      return static_cast<int64_t>(std::ranges::count_if(*variants, [](const Variant& variant) {
        return variant.text.starts_with("wide_matmul");
      }));
    }
    return int64_t{0};
  };
  EXPECT_EQ(variants_of("t = MatMul(x, w) u = Add(t, wb) y = Gelu(u)"), 1);
  EXPECT_EQ(variants_of("t = MatMul(x, w) u = Add(t, wb) y = Relu(u)"), 1);
  EXPECT_EQ(variants_of("t = MatMul(x, w) u = Add(t, wb) y = Gelu<approximate = \"tanh\">(u)"), 0);
}

}  // namespace
}  // namespace onnx_cudnn
