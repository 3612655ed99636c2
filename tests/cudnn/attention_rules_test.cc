// Which attentions cuDNN takes, with which Transposes.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/proposed.h"

namespace onnx_cudnn {
namespace {

class CudnnAttentionTest : public EngineTest {
 protected:
  CudnnAttentionTest() : EngineTest("cudnn") {}
};

constexpr std::string_view kHeads =
    "g (float16[2,4,5,8] q, float16[2,4,7,8] k, float16[2,4,7,16] v) => (y) ";

TEST_F(CudnnAttentionTest, TakesTheOpWithTransposesOfItsHeads) {
  ExpectCases({
      {"alone", absl::StrCat(kHeads, "{ y = Attention(q, k, v) }"), "Attention", "{Attention}"},
      {"with all Transposes",
       "g (float16[2,5,4,8] q, float16[2,7,4,8] k, float16[2,7,4,16] v) => (y) "
       "{ a = Transpose<perm = [0,2,1,3]>(q) b = Transpose<perm = [0,2,1,3]>(k) "
       "c = Transpose<perm = [0,2,1,3]>(v) d = Attention(a, b, c) "
       "y = Transpose<perm = [0,2,1,3]>(d) }",
       "Attention", "{Transpose Transpose Transpose Attention Transpose}"},
      {"causal, in bf16, with shared heads",
       "g (bfloat16[2,4,7,8] q, bfloat16[2,2,7,8] k, bfloat16[2,2,7,8] v) => (y) "
       "{ y = Attention<is_causal = 1, scale = 0.5>(q, k, v) }",
       "Attention", "{Attention}"},
      {"with a mask",
       "g (float16[2,4,5,8] q, float16[2,4,7,8] k, float16[2,4,7,16] v, "
       "float16[2,1,1,7] m) => (y) { y = Attention(q, k, v, m) }",
       "Attention", "{Attention}"},
      {"with a mask in f32 that has no number near the lowest",
       "g (float16[2,4,5,8] q, float16[2,4,7,8] k, float16[2,4,7,16] v, bool[2,1,1,7] c) => (y) "
       "<float zero = {0}, float low = {-1e30}> "
       "{ m = Where(c, zero, low) y = Attention(q, k, v, m) }",
       "Attention", "{Attention}"},
      {"not with a Transpose of the channels",
       "g (float16[2,4,5,8] q, float16[2,4,8,7] k, float16[2,4,7,16] v) => (y) "
       "{ b = Transpose<perm = [0,1,3,2]>(k) y = Attention(q, b, v) }",
       "Attention", "{Attention}", "b to Transpose: cuDNN's attention reads and writes rows"},
      {"not with what is no Transpose",
       absl::StrCat(kHeads, "{ a = Attention(q, k, v) y = Relu(a) }"), "Attention", "{Attention}",
       "a to Relu: cuDNN's attention joins nothing but what moves whole heads"},
      {"not with a Transpose of what others read",
       absl::StrCat(kHeads,
                    "{ a = Attention(q, k, v) b = Transpose<perm = [0,2,1,3]>(a) "
                    "c = Relu(a) d = Transpose<perm = [0,2,1,3]>(c) y = Add(b, d) }"),
       "Attention", "{Attention}", "a to Transpose: cuDNN's attention writes its result once"},
  });
}

// Parts of one product, as strides of one operand.
TEST_F(CudnnAttentionTest, ReadsHeadsWhereTheyLie) {
  constexpr std::string_view kParts =
      "g (float16[2,5,96] x) => (y) <int64[1] zero = {0}, int64[1] one = {32}, int64[1] two = "
      "{64}, "
      "int64[1] three = {96}, int64[1] odd = {36}, int64[1] end = {68}, int64[1] axis = {2}, "
      "int64[4] heads = {2, 5, 4, 8}> { ";
  constexpr std::string_view kHeads =
      "q = Reshape(a, heads) k = Reshape(b, heads) v = Reshape(c, heads) "
      "d = Transpose<perm = [0,2,1,3]>(q) e = Transpose<perm = [0,2,1,3]>(k) "
      "f = Transpose<perm = [0,2,1,3]>(v) y = Attention(d, e, f) }";
  constexpr std::string_view kSlices =
      "a = Slice(x, zero, one, axis) b = Slice(x, one, two, axis) c = Slice(x, two, three, axis) ";
  ExpectCases({
      {"Slices", absl::StrCat(kParts, kSlices, kHeads), "Attention",
       "{Slice Reshape Transpose Slice Reshape Transpose Slice Reshape Transpose Attention}"},
      {"a Split",
       "g (float16[2,5,96] x) => (y) <int64[3] n = {32, 32, 32}, int64[4] heads = {2, 5, 4, 8}> "
       "{ a, b, c = Split<axis = 2>(x, n) " +
           std::string(kHeads),
       "Attention", "{Split Reshape Transpose Reshape Transpose Reshape Transpose Attention}"},
      {"a packed product",
       "g (float16[2,5,96] x) => (y) <int64[5] s = {2, 5, 3, 4, 8}, int64 zero = {0}, "
       "int64 one = {1}, int64 two = {2}> "
       "{ r = Reshape(x, s) t = Transpose<perm = [2,0,3,1,4]>(r) q = Gather(t, zero) "
       "k = Gather(t, one) v = Gather(t, two) y = Attention(q, k, v) }",
       "Attention", "{Reshape Transpose Gather Gather Gather Attention}"},
      {"not what begins between vectors",
       absl::StrCat(kParts,
                    "a = Slice(x, zero, one, axis) b = Slice(x, odd, end, axis) "
                    "c = Slice(x, two, three, axis) ",
                    kHeads),
       "Attention", "{Slice Reshape Transpose Reshape Transpose Slice Reshape Transpose Attention}",
       "cuDNN's attention reads and writes rows"},
  });
}

TEST_F(CudnnAttentionTest, TakesWideHeadsOfEqualChannels) {
  for (const char* channels : {"136", "192", "256"}) {
    const Graph graph = GraphWithWeights(absl::StrReplaceAll(
        "g (float16[2,4,2,C] q, float16[2,2,7,C] k, float16[2,2,7,C] v, float16[2,7] m) => (y) "
        "{ y = Attention(q, k, v, m) }",
        {{"C", channels}}));
    EXPECT_EQ(At(graph, "Attention").candidates.size(), 1u) << channels;
  }
}

TEST_F(CudnnAttentionTest, LeavesOtherAttentions) {
  const auto leaves = [&](std::string_view operands, std::string_view says,
                          std::string_view node = "y = Attention(q, k, v)") {
    const Graph graph = GraphWithWeights(absl::StrCat("g (", operands, ") => (y) { ", node, " }"));
    const Proposed proposed = At(graph, "Attention");
    EXPECT_TRUE(proposed.candidates.empty()) << operands;
    ASSERT_EQ(proposed.reasons.size(), 1u);
    EXPECT_NE(proposed.reasons[0].find(says), std::string::npos) << proposed.reasons[0];
  };
  leaves("float16[2,4,5,12] q, float16[2,4,7,12] k, float16[2,4,7,16] v",
         "q has heads of 12 channels, expected a multiple of 8 up to 256");
  leaves("float16[2,4,5,8] q, float16[2,4,7,8] k, float16[2,4,7,136] v",
         "k has heads of 8 channels, v of 136, expected as many beyond 128");
  leaves("float16[2,4,5,264] q, float16[2,4,7,264] k, float16[2,4,7,264] v",
         "q has heads of 264 channels");
  leaves("float16[2,4,1,256] q, float16[2,4,7,256] k, float16[2,4,7,256] v",
         "it has one query and heads of 256 channels");
  leaves("float[2,4,5,8] q, float[2,4,7,8] k, float[2,4,7,16] v", "it is on f32");
  leaves("float16[2,4,5,8] q, float16[2,4,7,8] k", "k is another operand too",
         "y = Attention(q, k, k)");
  leaves("float16[2,4,5,8] q, float16[2,4,7,8] wk, float16[2,4,7,8] v", "is a constant",
         "y = Attention(q, wk, v)");
  const std::string_view masked =
      "float16[2,4,7,8] q, float16[2,4,7,8] k, float16[2,4,7,16] v, float16[7,7] m";
  leaves(masked, "it is causal and has a mask", "y = Attention<is_causal = 1>(q, k, v, m)");
  leaves("float16[2,4,5,8] q, float16[2,4,7,8] k, float16[2,4,7,16] v, bool[5,7] m",
         "its mask is bool", "y = Attention(q, k, v, m)");
  leaves("float16[2,4,5,8] q, float16[2,4,7,8] k, float16[2,4,7,16] v, float16[5,1] m",
         "m is f16[5,1], expected one number per key", "y = Attention(q, k, v, m)");
  leaves("float16[2,4,5,8] q, float16[2,4,7,8] k, float16[2,4,7,16] v, float[5,7] m",
         "m may have finite numbers below -1e38", "y = Attention(q, k, v, m)");
  leaves("float16[2,4,5,8] q, float16[2,3,7,8] k, float16[2,3,7,16] v", "do not fit together");
}

}  // namespace
}  // namespace onnx_cudnn
