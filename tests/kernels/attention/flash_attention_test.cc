// Which attentions run in tiles, and what joins them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/kernel.h"
#include "tests/kernels/kernels_fixture.h"

namespace onnx_cudnn {
namespace {

class FlashRulesTest : public KernelsTest {
 protected:
  static const Kernel& Flash() {
    const std::vector<Kernel>& all = AllKernels();
    return *std::ranges::find(all, "flash_attention", &Kernel::name);
  }
  // The reason for which the kernel refuses the only Node of a graph; "": it takes it.
  static std::string Refusal(const std::string& operands, const std::string& call) {
    const Graph graph =
        GraphWithWeights(absl::StrCat("g (", operands, ") => (y) { y = Attention", call, " }"));
    const Support support = CheckUnit(Flash(), UnitOf({graph.TopologicalOrder().back()}));
    return support ? "" : std::string(support.reason());
  }
};

TEST_F(FlashRulesTest, TakesHeadsMasksAndCausal) {
  const std::string heads = "float16[2,4,5,64] q, float16[2,2,7,64] k, float16[2,2,7,32] v";
  EXPECT_EQ(Refusal(heads, "(q, k, v)"), "");
  EXPECT_EQ(
      Refusal("float16[2,4,5,256] q, float16[2,2,7,256] k, float16[2,2,7,136] v", "(q, k, v)"), "");
  EXPECT_EQ(Refusal(heads + ", float[5,7] m", "<is_causal = 1>(q, k, v, m)"), "");
  EXPECT_EQ(Refusal(heads + ", bool[5,7] m", "(q, k, v, m)"), "its mask is bool");
  EXPECT_EQ(Refusal(heads, "<scale = -1.0>(q, k, v)"), "its scale is not positive");
}

TEST_F(FlashRulesTest, RefusesOtherChannels) {
  EXPECT_EQ(Refusal("float16[2,4,5,12] q, float16[2,4,7,12] k, float16[2,4,7,16] v", "(q, k, v)"),
            "q has heads of 12 channels, expected a multiple of 8 up to 256");
  EXPECT_EQ(Refusal("float16[2,4,5,64] q, float16[2,4,7,64] k, float16[2,4,7,264] v", "(q, k, v)"),
            "v has heads of 264 channels, expected a multiple of 8 up to 256");
  EXPECT_EQ(Refusal("float16[2,4,5,64] q, float16[2,4,0,64] k, float16[2,4,0,64] v", "(q, k, v)"),
            "an operand is empty");
}

TEST_F(FlashRulesTest, WhatOnlyPlacesHeadsJoins) {
  const Graph graph = GraphWithWeights(
      "g (float16[2,40,2,64] x, float16[2,40,2,64] z, float16[2,40,2,64] u) => (y) "
      "{ q = Transpose<perm = [0,2,1,3]>(x) k = Transpose<perm = [0,2,1,3]>(z) "
      "v = Transpose<perm = [0,2,1,3]>(u) a = Attention(q, k, v) "
      "y = Transpose<perm = [0,2,1,3]>(a) }");
  size_t most = 0;
  for (const Candidate& c : At(graph, "Attention").candidates)
    most = std::max(most, c.nodes.size());
  EXPECT_EQ(most, 5);
}

// The kernel reads rows of 16 bytes and writes rows of channels.
TEST_F(FlashRulesTest, OtherMovesStayOutside) {
  const Graph graph = GraphWithWeights(
      "g (float16[2,2,64,40] x, float16[2,2,40,64] k, float16[2,2,40,64] v) => (y) "
      "{ q = Transpose<perm = [0,1,3,2]>(x) a = Attention(q, k, v) "
      "y = Transpose<perm = [0,1,3,2]>(a) }");
  for (const Candidate& c : At(graph, "Attention").candidates) EXPECT_EQ(c.nodes.size(), 1);
}

}  // namespace
}  // namespace onnx_cudnn
