// Masks and biases that exporters add to the scores of an attention.
#include "absl/strings/str_replace.h"
#include "tests/passes/fuse_attention_fixture.h"

namespace onnx_cudnn {
namespace {

// Windows of Swin: the mask of each window is added to the scores of each image.
TEST_F(FuseAttentionTest, MasksOfWindowsAreAddedToAll) {
  const auto fused = [&](std::string_view split, std::string_view masks,
                         std::string_view bias = "[1,2,4,4]") {
    return NodesOf(
        absl::StrCat("g (float16[6,2,4,8] q, float16[6,2,4,8] k, float16[6,2,4,8] v, float16", bias,
                     " b, float16", masks, " m) => (float16[6,2,4,8] y) <int64[5] split = {", split,
                     ", 2, 4, 4}, int64[4] joined = {6, 2, 4, 4}> "
                     "{ t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) d = Add(c, b) "
                     "e = Reshape(d, split) f = Add(e, m) h = Reshape(f, joined) p = Softmax(h) "
                     "y = MatMul(p, v) }"));
  };
  EXPECT_EQ(fused("1, 6", "[1,6,1,4,4]"),
            "add = Add(b, m) reshape = Reshape(add, {6, 2, 4, 4}) "
            "y_0 = Attention<scale = 1.0>(q, k, v, reshape)");
  EXPECT_EQ(fused("2, 3", "[1,3,1,4,4]"),
            "add = Add(b, m) expand = Expand(add, {2, 3, 2, 4, 4}) "
            "reshape = Reshape(expand, {6, 2, 4, 4}) "
            "y_1 = Attention<scale = 1.0>(q, k, v, reshape)");
  EXPECT_EQ(fused("2, 3", "[1,1,2,4,4]"),
            "add = Add(b, m) reshape = Reshape(add, {1, 2, 4, 4}) "
            "y_0 = Attention<scale = 1.0>(q, k, v, reshape)");
  EXPECT_EQ(fused("3, 2", "[4,4]"), "add = Add(b, m) y_0 = Attention<scale = 1.0>(q, k, v, add)");
  EXPECT_EQ(fused("2, 3", "[1,3,1,4,4]", "[6,1,4,4]"),
            "reshape = Reshape(b, {2, 3, 1, 4, 4}) add = Add(reshape, m) "
            "reshape_1 = Reshape(add, {6, 1, 4, 4}) "
            "y_2 = Attention<scale = 1.0>(q, k, v, reshape_1)");
}

// T5: a bias per head from a table by the distance of query and key, and a mask; no scale.
TEST_F(FuseAttentionTest, ATableOfDistancesIsAdded) {
  const std::string bias =
      "e = Mul(n, eight) i = Cast<to = 7>(e) r = Gather(table, i) "
      "s = Transpose<perm = [2, 0, 1]>(r) u = Unsqueeze(s, {0}) b = Add(u, m) ";
  EXPECT_EQ(Attention(absl::StrCat(absl::StrReplaceAll(bias, {{"{0}", "zero"}}),
                                   "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) "
                                   "d = Add(c, b) f = Cast<to = 1>(d) p = Softmax(f) "
                                   "h = Cast<to = 10>(p) y = MatMul(h, v)"),
                      ", float16[8,4] table, float[16,24] n, float16[2,1,1,24] m",
                      "int64[1] zero = {0}, float eight = {7.5}"),
            absl::StrCat(absl::StrReplaceAll(bias, {{"eight", "{7.5}"}}),
                         "y_0 = Attention<scale = 1.0>(q, k, v, b)"));
}

// ALiBi: a slope of each head times the distance; where keys are too far away or later, a Where
// excludes them, as in a sliding window.
TEST_F(FuseAttentionTest, SlopesAndAWindow) {
  EXPECT_EQ(Attention("b = Mul(slopes, n) t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) "
                      "g = Mul(c, scale) d = Add(g, b) e = Where(seen, d, least) p = Softmax(e) "
                      "y = MatMul(p, v)",
                      ", float16[4,1,1] slopes, float16[1,1,24] n, bool[16,24] seen",
                      "float16 scale = {14336}, float16 least = {64512}"),
            "b = Mul(slopes, n) where = Where(seen, {0}, {-inf}) add = Add(b, where) "
            "y_0 = Attention<scale = 0.5>(q, k, v, add)");
}

}  // namespace
}  // namespace onnx_cudnn
