// cuDNN's attention on queries, keys and values that are parts of one product.
#include "absl/strings/str_cat.h"
#include "tests/gpu/kernel_test.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class PackedAttentionTest : public KernelTest {
 protected:
  // Expects that one Candidate of cuDNN has all Nodes, and that it is right.
  void Check(std::string_view text) {
    SCOPED_TRACE(text);
    const Graph graph = GraphFromText(text);
    std::vector<Candidate> whole;
    for (const Engine* engine : target().engines) {
      if (engine->name() != "cudnn") continue;
      whole = ProposedBy(*engine, graph, FindNode(graph, "Attention"), target()).candidates;
      std::erase_if(whole, [&](const Candidate& candidate) {
        return candidate.nodes.size() != graph.TopologicalOrder().size();
      });
    }
    EXPECT_FALSE(whole.empty());
    EXPECT_GT(CheckAll(graph, whole, target()), 0);
  }
};

constexpr std::string_view kHeads =
    "q = Reshape(a, heads) k = Reshape(b, shared) v = Reshape(c, shared) "
    "d = Transpose<perm = [0,2,1,3]>(q) e = Transpose<perm = [0,2,1,3]>(k) "
    "f = Transpose<perm = [0,2,1,3]>(v) o = Attention(d, e, f) "
    "y = Transpose<perm = [0,2,1,3]>(o) }";

TEST_F(PackedAttentionTest, Slices) {
  Check(
      absl::StrCat("g (float16[2,128,2304] x) => (y) <int64[1] zero = {0}, int64[1] one = {768}, "
                   "int64[1] two = {1536}, int64[1] three = {2304}, int64[1] axis = {2}, "
                   "int64[4] heads = {2, 128, 12, 64}, int64[4] shared = {2, 128, 12, 64}> "
                   "{ a = Slice(x, zero, one, axis) b = Slice(x, one, two, axis) c = Slice(x, two, "
                   "three, axis) ",
                   kHeads));
}

TEST_F(PackedAttentionTest, ASplitWithSharedKeysAndValues) {
  Check(
      absl::StrCat("g (bfloat16[2,128,3072] x) => (y) <int64[3] n = {2048, 512, 512}, "
                   "int64[4] heads = {2, 128, 32, 64}, int64[4] shared = {2, 128, 8, 64}> "
                   "{ a, b, c = Split<axis = 2>(x, n) ",
                   kHeads));
}

TEST_F(PackedAttentionTest, AStackOfThree) {  // as vision transformers have it
  Check(
      "g (float16[2,197,2304] x) => (y) <int64[5] s = {2, 197, 3, 12, 64}, int64 zero = {0}, "
      "int64 one = {1}, int64 two = {2}> "
      "{ r = Reshape(x, s) t = Transpose<perm = [2,0,3,1,4]>(r) q = Gather(t, zero) "
      "k = Gather(t, one) v = Gather(t, two) y = Attention(q, k, v) }");
}

}  // namespace
}  // namespace onnx_cudnn
