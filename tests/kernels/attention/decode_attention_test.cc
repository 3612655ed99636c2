// Which pages of caches an attention of few queries reads where they lie.
#include <algorithm>

#include "absl/strings/str_replace.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class DecodeRulesTest : public KernelsTest {
 protected:
  // The Nodes of the largest Candidate of an attention over pages, in which `from` becomes `to`.
  size_t Largest(std::string_view from = "", std::string_view to = "") {
    std::string text =
        "g (float16[2,4,1,64] q, float16[9,16,2,64] kc, float16[9,16,2,64] vc, int32[2,5] table, "
        "int32[2,5] other, int64[2] lengths) => (y) <int64[4] rows = {2, 80, 2, 64}, "
        "int64[4] exchanged = {2, 2, 80, 64}> { "
        "a = Gather(kc, table) b = Reshape(a, rows) k = Transpose<perm = [0,2,1,3]>(b) "
        "c = Gather(vc, table) d = Reshape(c, rows) v = Transpose<perm = [0,2,1,3]>(d) "
        "y = Attention(q, k, v, , , , lengths) }";
    if (!from.empty()) {
      EXPECT_NE(text.find(from), text.npos) << from;
      text = absl::StrReplaceAll(text, {{from, to}});
    }
    const Graph graph = GraphFromText(text);
    size_t most = 0;
    for (const Candidate& c : At(graph, "Attention").candidates) {
      most = std::max(most, c.nodes.size());
    }
    return most;
  }
};

TEST_F(DecodeRulesTest, ReadsPagesWhereTheyLie) { EXPECT_EQ(Largest(), 7u); }

// The Gather says that there is no page.
TEST_F(DecodeRulesTest, LeavesCachesOfNoPages) {
  EXPECT_EQ(Largest("float16[9,", "float16[0,"), 1u);
}

TEST_F(DecodeRulesTest, LeavesOtherMoves) {
  EXPECT_EQ(Largest("Gather(vc, table)", "Gather(vc, other)"), 1u);
  EXPECT_EQ(Largest("v = Transpose<perm = [0,2,1,3]>(d)", "v = Reshape(d, exchanged)"), 1u);
  EXPECT_EQ(Largest("c = Gather(vc, table)", "n = Neg(vc) c = Gather(n, table)"), 7u);
  EXPECT_EQ(Largest("c = Gather(vc, table)", "n = Gather(vc, table) c = Neg(n)"), 1u);
}

}  // namespace
}  // namespace onnx_cudnn
