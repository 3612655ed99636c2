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

// Of nn.MultiheadAttention and BART: heads are a stack of matrices; masks may be added between two
// Reshapes.
TEST_F(FuseAttentionTest, HeadsAreAStackOfMatrices) {
  const auto fused = [&](std::string_view more, std::string_view scores,
                         std::string_view heads = "6,4,8") {
    return NodesOf(absl::StrCat(
        "g (float16[2,3,4,8] a, float16[6,5,8] k, float16[6,5,8] v", more,
        ") => (float16[6,4,8] y) <int64[3] stack = {", heads,
        "}, int64[4] split = {2,3,4,5}, int64[3] joined = {6,4,5}> { q = Reshape(a, stack) "
        "t = Transpose<perm = [0,2,1]>(k) c = MatMul(q, t) ",
        scores, " y = MatMul(p, v) }"));
  };
  const std::string operands =
      "reshape = Reshape(k, {2, 3, 5, 8}) reshape_1 = Reshape(v, {2, 3, 5, 8}) ";
  EXPECT_EQ(fused("", "p = Softmax(c)"), operands +
                                             "y_2 = Attention<scale = 1.0>(a, reshape, reshape_1) "
                                             "reshape_4 = Reshape(y_2, {6, 4, 8})");
  EXPECT_EQ(fused(", float16[2,1,4,5] m",
                  "d = Reshape(c, split) e = Add(d, m) f = Reshape(e, joined) p = Softmax(f)"),
            operands +
                "y_2 = Attention<scale = 1.0>(a, reshape, reshape_1, m) "
                "reshape_4 = Reshape(y_2, {6, 4, 8})");
  EXPECT_EQ(fused(", float16[6,4,5] m", "d = Add(c, m) p = Softmax(d)"),
            operands +
                "reshape_3 = Reshape(m, {2, 3, 4, 5}) "
                "y_4 = Attention<scale = 1.0>(a, reshape, reshape_1, reshape_3) "
                "reshape_6 = Reshape(y_4, {6, 4, 8})");
}

// Queries of a group as an axis of their own, over which k and v broadcast.
TEST_F(FuseAttentionTest, GroupsAreAnAxis) {
  const std::string_view operands =
      "float16[2,3,2,4,8] q, float16[2,3,1,5,8] k, float16[2,3,1,5,8] v";
  const std::string nodes = "t = Transpose<perm = [0,1,2,4,3]>(k) c = MatMul(q, t) ";
  const auto fused = [&](std::string_view mask) {
    return NodesOf(absl::StrCat("g (", operands, ", float16", mask,
                                " m) => (float16[2,3,2,4,8] y) ", "{ ", nodes,
                                "d = Add(c, m) p = Softmax(d) y = MatMul(p, v) }"));
  };
  const std::string heads =
      "reshape = Reshape(q, {2, 6, 4, 8}) reshape_1 = Reshape(k, {2, 3, 5, 8}) "
      "reshape_3 = Reshape(v, {2, 3, 5, 8}) ";
  const std::string behind = " reshape_6 = Reshape(y_4, {2, 3, 2, 4, 8})";
  EXPECT_EQ(fused("[4,5]"),
            heads + "y_4 = Attention<scale = 1.0>(reshape, reshape_1, reshape_3, m)" + behind);
  for (const auto& [mask, dims] :
       {std::pair("[2,1,1,4,5]", "{2, 1, 4, 5}"), std::pair("[3,2,4,5]", "{1, 6, 4, 5}")}) {
    EXPECT_EQ(fused(mask),
              absl::StrCat(heads, "reshape_5 = Reshape(m, ", dims,
                           ") y_6 = Attention<scale = 1.0>(reshape, reshape_1, reshape_3, "
                           "reshape_5) reshape_8 = Reshape(y_6, {2, 3, 2, 4, 8})"));
  }
  ExpectStays(absl::StrCat("g (", operands, ", float16[2,4,5] m) => (y) { ", nodes,
                           "d = Add(c, m) p = Softmax(d) y = MatMul(p, v) }"),
              "its mask differs by more than heads");
  ExpectStays(absl::StrCat("g (float16[2,3,2,4,8] q, float16[2,3,2,5,8] k, float16[2,3,2,5,8] v) ",
                           "=> (y) { ", nodes, "p = Softmax(c) y = MatMul(p, v) }"),
              "its heads are not those of groups");
}

// Swin V2: the scores of each head have a scale. q has the largest one at most, so that it fits.
TEST_F(FuseAttentionTest, AScaleOfEachHeadIsAFactorOfQ) {
  const std::string_view nodes =
      "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) f = Cast<to = 1>(c) "
      "d = Mul(f, scales) e = Add(d, m) p = Softmax(e) h = Cast<to = 10>(p) y = MatMul(h, v)";
  EXPECT_EQ(Attention(nodes, ", float[1,4,16,24] m", "float[4,1,1] scales = {0.5, 1, 0.25, 0.75}"),
            "mul = Mul(q, {0.5, 1, 0.25, 0.75}) isinf = IsInf(m) "
            "max = Max(m, {-1e+30}) where = Where(isinf, m, max) "
            "y_1 = Attention<scale = 1.0>(mul, k, v, where)");
  EXPECT_EQ(Attention("t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) d = Mul(scales, c) "
                      "p = Softmax(d) y = MatMul(p, v)",
                      "", "float16[1,4,1,1] scales = {16384, 14336, 14336, 16384}"),
            "mul = Mul(q, {1, 0.25, 0.25, 1}) "
            "y_1 = Attention<scale = 2.0>(mul, k, v)");
  ExpectAttentionStays(
      "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) d = Mul(c, scales) "
      "p = Softmax(d) y = MatMul(p, v)",
      "",
      "float16[24] scales = {15360, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
      "0, 0, 0, 0, 0, 0, 0, 0, 0}");
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

// Nodes for one query of each of two batches, heads of `channels` and three keys, whose condition
// is `comparison` of b, i64 `bounds`, with the positions of keys.
std::string WithPositions(
    std::string_view comparison, std::string_view bounds = "[2,1,1] n = {0,2}",
    std::string_view channels = "64",
    std::string_view behind = "e = Where(u, c, low) p = Softmax(e) y = MatMul(p, v)") {
  return absl::StrReplaceAll(
      absl::StrCat("g (float16[2,4,1,@] q, float16[2,2,3,@] x, float16[2,2,3,@] z) => "
                   "(float16[2,4,1,@] y) <int64",
                   bounds,
                   ", int64[3] at = {0,1,2}, int64[3] other = {0,2,1}, int64[1] one = {1}, "
                   "int64[1] two = {2}, int64[5] groups = {2,2,2,3,@}, int64[4] heads = {2,4,3,@}, "
                   "float16 low = {64512}, float least = {-1e30}> { b = Abs(n) "
                   "d = Unsqueeze(x, two) g = Expand(d, groups) k = Reshape(g, heads) "
                   "i = Unsqueeze(z, two) j = Expand(i, groups) v = Reshape(j, heads) "
                   "t = Transpose<perm = [0,1,3,2]>(k) c = MatMul(q, t) s = ",
                   comparison, " u = Unsqueeze(s, one) ", behind, " }"),
      {{"@", channels}});
}

// A query sees keys up to a position of its batch, as GroupQueryAttention has it for one token.
TEST_F(FuseAttentionTest, PositionsOfKeysAreLengths) {
  const std::string add =
      "b = Abs({0, 2}) reshape = Reshape(b, {2}) add = Add(reshape, {1}) "
      "y_1 = Attention<scale = 1.0>(q, x, z, \"\", \"\", \"\", add)";
  EXPECT_EQ(NodesOf(WithPositions("LessOrEqual(at, b)")), add);
  EXPECT_EQ(NodesOf(WithPositions("GreaterOrEqual(b, at)")), add);
  const std::string less =
      "b = Abs({1, 3}) reshape = Reshape(b, {2}) "
      "y_0 = Attention<scale = 1.0>(q, x, z, \"\", \"\", \"\", reshape)";
  EXPECT_EQ(NodesOf(WithPositions("Less(at, b)", "[2,1,1] n = {1,3}")), less);
  EXPECT_EQ(NodesOf(WithPositions("Greater(b, at)", "[2,1,1] n = {1,3}")), less);
  EXPECT_EQ(
      NodesOf(WithPositions("LessOrEqual(at, b)", "[1,1,1] n = {1}")),
      "b = Abs({1}) reshape = Reshape(b, {1}) add = Add(reshape, {1}) expand = Expand(add, {2}) "
      "y_2 = Attention<scale = 1.0>(q, x, z, \"\", \"\", \"\", expand)");
}

TEST_F(FuseAttentionTest, OtherConditionsAreMasks) {
  const auto expect_mask = [&](std::string_view text) {
    const std::string nodes = NodesOf(text);
    EXPECT_NE(nodes.find("= Attention<scale = 1.0>(q, x, z, where)"), nodes.npos) << nodes;
  };
  expect_mask(WithPositions("LessOrEqual(other, b)"));  // not in order
  expect_mask(WithPositions("GreaterOrEqual(at, b)"));  // keys behind a position
  expect_mask(WithPositions("LessOrEqual(at, b)", "[2,1,3] n = {0,1,2,2,1,2}"));  // by key
  expect_mask(WithPositions("LessOrEqual(b, at)"));
  // The kernel that takes lengths has no heads of 32 channels, cuDNN's attention does.
  expect_mask(WithPositions("LessOrEqual(at, b)", "[2,1,1] n = {0,2}", "32"));
  // A query without keys would have the mean of all, not 0.
  expect_mask(WithPositions("LessOrEqual(at, b)", "[2,1,1] n = {0,2}", "64",
                            "f = Cast<to = 1>(c) e = Where(u, f, least) p = Softmax(e) "
                            "h = Cast<to = 10>(p) y = MatMul(h, v)"));
}

}  // namespace
}  // namespace onnx_cudnn
