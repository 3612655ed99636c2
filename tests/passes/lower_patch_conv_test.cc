// Convolutions that cut images into patches become products.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/graph/verify.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"
#include "tests/support/proposed.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// The Graph of `text` (GraphWithWeights) after the pass, for a Target with or without a GPU;
// nullopt: unchanged.
std::optional<Graph> Lowered(std::string_view text, int compute_capability = 90) {
  Graph graph = GraphWithWeights(text);
  if (!Changes(LowerPatchConv(), graph, compute_capability)) return std::nullopt;
  return graph;
}

std::string OpsOf(const Graph& graph) {
  std::string ops;
  for (const Node* node : graph.TopologicalOrder()) absl::StrAppend(&ops, node->op(), " ");
  return ops;
}

// Patches of 8 × 4 pixels, of two images with three channels.
TEST(LowerPatchConvTest, ComputesTheSame) {
  const std::string text =
      "g (float[2,3,16,12] x, float[8,3,8,4] w, float[8] wb) => (float[2,8,2,3] y) "
      "{ y = Conv<strides = [8, 4]>(x, w, wb) }";
  const std::optional<Graph> lowered = Lowered(text);
  ASSERT_TRUE(lowered.has_value());
  EXPECT_EQ(OpsOf(*lowered), "Reshape Transpose Reshape Gemm Reshape Transpose ");
  std::vector<HostTensor> inputs = {HostTensor::Allocate(DType::kF32, {2, 3, 16, 12})};
  const auto pixels = inputs[0].mutable_data<float>();
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 17) - 8;
  const auto before = Evaluate(GraphWithWeights(text), inputs), after = Evaluate(*lowered, inputs);
  ASSERT_TRUE(before.ok() && after.ok()) << after.status();
  ASSERT_EQ((*before)[0].dims(), (*after)[0].dims());
  const auto a = (*before)[0].data<float>(), b = (*after)[0].data<float>();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4) << i;
}

TEST(LowerPatchConvTest, TheNumberOfImagesMayBeASymbol) {
  const std::optional<Graph> lowered = Lowered(
      "g (float16[N,1,8,8] x, float16[8,1,4,4] w) => (float16[N,8,2,2] y) "
      "{ y = Conv<strides = [4, 4]>(x, w) }");
  ASSERT_TRUE(lowered.has_value());
  EXPECT_EQ(ToString(lowered->outputs()[0].value->type()), "f16[N,8,2,2]");
}

TEST(LowerPatchConvTest, LeavesOtherConvolutions) {
  const auto stays = [](std::string_view what, std::string_view x, std::string_view w,
                        std::string_view attributes, int compute_capability = 90) {
    EXPECT_FALSE(
        Lowered(absl::StrCat("g (", x, " x, ", w, ") => (y) { y = Conv<", attributes, ">(x, w) }"),
                compute_capability)
            .has_value())
        << what;
  };
  const std::string_view x = "float[1,1,8,8]", w = "float[8,1,4,4] w", side = "strides = [4, 4]";
  stays("windows that overlap", x, w, "strides = [2, 4]");
  stays("pixels that no window has", "float[1,1,9,8]", w, side);
  stays("unknown extents", "float[1,1,H,8]", w, side);
  stays("pads", x, w, "strides = [4, 4], pads = [4, 0, 0, 0]");
  stays("windows with gaps", x, w, "strides = [4, 4], dilations = [2, 2]");
  stays("groups", "float[1,2,8,8]", w, "strides = [4, 4], group = 2");
  stays("many channels", "float[1,8,8,8]", "float[8,8,4,4] w", side);
  stays("small patches", "float[1,4,8,8]", "float[8,4,2,2] w", "strides = [2, 2]");
  stays("rows that are not aligned", "float[1,1,9,10]", "float[8,1,3,10] w", "strides = [3, 10]");
  stays("other types", "double[1,1,8,8]", "double[8,1,4,4] w", side);
  stays("no GPU", x, w, side, 0);
}

TEST(LowerPatchConvTest, SaysThatPatchesAreSmall) {
  const auto stays = [](std::string_view w, std::string_view strides, std::string_view reason) {
    const std::string text = absl::StrCat("g (float[1,4,8,12] x, float", w,
                                          " w) => (y) { y = Conv<strides = ", strides, ">(x, w) }");
    ExpectNoRewriteFor("h200", LowerPatchConv(), GraphWithWeights(text), reason);
  };
  stays("[8,4,2,2]", "[2, 2]", "its patches have fewer than 16 pixels");
  stays("[8,4,4,3]", "[4, 3]", "its patches have fewer than 16 pixels");
  stays("[8,4,4,3]", "[2, 3]", "");  // windows that overlap are no patches
  stays("[8,4,4,4]", "[2, 4]", "its windows overlap or do not fill the image");
}

}  // namespace
}  // namespace onnx_cudnn
