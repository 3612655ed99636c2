#include <string_view>

#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

TEST(KeepF32Test, LeavesNodesByName) {
  constexpr std::string_view kTwo = R"(
      g (float[1,1,3] x) => (float[1,1,3] y) <float[1,1,1] w = {3}>
      { t = Conv(x, w)
        y = Conv(t, w) })";
  Graph graph = GraphFromText(kTwo);
  PassContext context{.keep_f32 = {"y"}};
  const auto changed = LowerPrecisionFp16()->Run(graph, context);
  ASSERT_TRUE(changed.ok()) << changed.status();
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() != "Conv") continue;
    const bool is_kept = node->output(0).name() == "y";
    EXPECT_EQ(node->output(0).dtype(), is_kept ? DType::kF32 : DType::kF16);
  }
  Graph other = GraphFromText(kTwo);
  context.keep_f32 = {"y", "nobody"};
  const absl::Status unknown = LowerPrecisionFp16()->Run(other, context).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(unknown.message(), "option keep_f32: after the rewrites there is no node \"nobody\"");
}

}  // namespace
}  // namespace onnx_cudnn
