// Forms of the op Attention that no engine runs, and what becomes of them.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "runtime/import/expand_function.h"
#include "runtime/session/engines.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kHeads = "float16[2,4,5,8] q, float16[2,2,7,8] k, float16[2,2,7,8] v";

std::string Text(std::string_view inputs, std::string_view nodes, std::string_view outputs = "y") {
  return absl::StrCat("g (", inputs, ") => (", outputs, ") { ", nodes, " }");
}

// The Nodes after the pass; expects the numbers of ONNX's function.
std::string Lowered(const std::string& text, std::string_view on = "h200") {
  const Graph graph = GraphFromText(text);
  const RewrittenFor result = RewriteFor(on, LowerAttention(), graph);
  if (!result.changed) return result.remarks.empty() ? "" : result.remarks[0].reason;
  const absl::StatusOr<OwnedTarget> cpu = MakeTarget("cpu");
  const absl::StatusOr<Graph> expected =
      BindShapes(graph, {}, {.functions = &kOnnxFunctions}, &cpu->target);
  EXPECT_TRUE(expected.ok()) << expected.status();
  ExpectSameHalves(*expected, result.graph);
  const std::string printed = PrintOnOneLine(result.graph);
  const size_t open = printed.find("{ ", printed.find("=> ("));
  return printed.substr(open + 2, printed.size() - open - 4);
}

TEST(LowerAttentionTest, BoolsAreAMaskThatIsAdded) {
  EXPECT_EQ(Lowered(Text(absl::StrCat(kHeads, ", bool[2,1,5,7] m"),
                         "y = Attention<scale = 0.5>(q, k, v, m)")),
            "where = Where(m, {0}, {-inf}) y_0 = Attention<scale = 0.5>(q, k, v, where)");
}

TEST(LowerAttentionTest, AQueryThatSeesNoKeyGivesZeros) {
  const std::string bools =
      "0,0,0,0,0,0,0, 1,1,1,1,1,1,1, 0,0,0,0,0,0,0, 1,0,0,0,0,0,0, "
      "1,1,1,1,1,1,1";
  EXPECT_EQ(Lowered(absl::StrCat("g (", kHeads, ") => (y) <bool[5,7] b = {", bools,
                                 "}> { m = Identity(b) y = Attention<scale = 0.5>(q, k, v, m) }")),
            "m = Identity(<bool[5,7] 22a74a1e 0, 0, 0, …>) where = Where(m, {0}, {-inf}) "
            "y_0 = Attention<scale = 0.5>(q, k, v, where)");
}

TEST(LowerAttentionTest, LayersShareAMask) {
  EXPECT_EQ(Lowered(Text(absl::StrCat(kHeads, ", bool[2,1,5,7] m"),
                         "a = Attention<scale = 0.5>(q, k, v, m) "
                         "y = Attention<scale = 0.25>(a, k, v, m)")),
            "where = Where(m, {0}, {-inf}) a_0 = Attention<scale = 0.5>(q, k, v, where) "
            "y_3 = Attention<scale = 0.25>(a_0, k, v, where)");
}

TEST(LowerAttentionTest, RowsOfAllHeadsAreTransposed) {
  EXPECT_EQ(
      Lowered(Text("float16[2,5,32] q, float16[2,7,16] k, float16[2,7,16] v",
                   "y = Attention<q_num_heads = 4, kv_num_heads = 2, scale = 0.5>(q, k, v)")),
      "reshape = Reshape(q, {2, 5, 4, 8}) transpose = Transpose<perm = [0, 2, 1, 3]>(reshape) "
      "reshape_1 = Reshape(k, {2, 7, 2, 8}) "
      "transpose_2 = Transpose<perm = [0, 2, 1, 3]>(reshape_1) "
      "reshape_4 = Reshape(v, {2, 7, 2, 8}) "
      "transpose_5 = Transpose<perm = [0, 2, 1, 3]>(reshape_4) "
      "y_6 = Attention<scale = 0.5>(transpose, transpose_2, transpose_5) "
      "transpose_7 = Transpose<perm = [0, 2, 1, 3]>(y_6) "
      "reshape_9 = Reshape(transpose_7, {2, 5, 32})");
}

constexpr std::string_view kPast = ", float16[2,2,3,8] a, float16[2,2,3,8] b";
constexpr std::string_view kJoined =
    "concat = Concat<axis = 2>(a, k) concat_0 = Concat<axis = 2>(b, v) ";

TEST(LowerAttentionTest, APastStandsBeforeTheKeys) {
  EXPECT_EQ(Lowered(Text(absl::StrCat(kHeads, kPast),
                         "y, c, d = Attention<scale = 0.5>(q, k, v, , a, b)", "y, c, d")),
            absl::StrCat(kJoined, "y_1 = Attention<scale = 0.5>(q, concat, concat_0)"));
  EXPECT_EQ(Lowered(Text(absl::StrCat(kHeads, kPast, ", bool[2,1,5,10] m"),
                         "y, c, d = Attention<scale = 0.5>(q, k, v, m, a, b)", "y, c, d")),
            absl::StrCat(kJoined,
                         "where = Where(m, {0}, {-inf}) "
                         "y_1 = Attention<scale = 0.5>(q, concat, concat_0, where)"));
}

// The first query sees the past and one key more.
TEST(LowerAttentionTest, CausalBehindAPastIsAMask) {
  EXPECT_EQ(
      Lowered(Text(absl::StrCat("float16[1,1,2,8] q, float16[1,1,2,8] k, "
                                "float16[1,1,2,8] v, float16[1,1,1,8] a, float16[1,1,1,8] b"),
                   "y, c, d = Attention<is_causal = 1, scale = 0.5>(q, k, v, , a, b)", "y, c, d")),
      absl::StrCat(kJoined,
                   "y_1 = Attention<scale = 0.5>(q, concat, concat_0, "
                   "{0, 0, -inf, 0, 0, 0})"));
  // One token sees all.
  EXPECT_EQ(
      Lowered(Text(absl::StrCat("float16[1,1,1,8] q, float16[1,1,1,8] k, "
                                "float16[1,1,1,8] v, float16[1,1,4,8] a, float16[1,1,4,8] b"),
                   "y, c, d = Attention<is_causal = 1, scale = 0.5>(q, k, v, , a, b)", "y, c, d")),
      absl::StrCat(kJoined, "y_1 = Attention<scale = 0.5>(q, concat, concat_0)"));
}

// Where no kernel takes both.
TEST(LowerAttentionTest, CausalJoinsAMask) {
  const auto text = [](std::string_view type) {
    return Text(absl::StrCat("float16[1,2,2,8] q, float16[1,2,3,8] k, float16[1,2,3,8] v, ", type,
                             "[2,3] m"),
                "y = Attention<is_causal = 1, scale = 0.5>(q, k, v, m)");
  };
  EXPECT_EQ(Lowered(text("float16")), "");
  EXPECT_EQ(Lowered(text("float16"), "l4"),
            "add = Add(m, {0, -inf, -inf, 0, 0, -inf}) "
            "y_0 = Attention<scale = 0.5>(q, k, v, add)");
  for (const char* target : {"h200", "l4"}) {
    EXPECT_EQ(Lowered(text("bool"), target),
              "and = And(m, {1, 0, 0, 1, 1, 0}) where = Where(and, {0}, {-inf}) "
              "y_0 = Attention<scale = 0.5>(q, k, v, where)");
  }
}

// `n` keys of each batch count.
std::string WithLengths(std::string_view dims, std::string_view op) {
  return absl::StrCat("g (float16[2,2,", dims, "] q, float16[2,2,4,8] k, float16[2,2,4,8] v, ",
                      "float16[2,1,1,4] m) => (y) <int64[2] l = {3,4}> { n = Abs(l) y = ", op,
                      " }");
}
constexpr std::string_view kCounted =
    "n = Abs({3, 4}) reshape = Reshape(n, {2, 1, 1, 1}) "
    "greater = Greater(reshape, {0, 1, 2, 3}) where = Where(greater, {0}, {-inf}) ";

TEST(LowerAttentionTest, LengthsAreAMask) {
  EXPECT_EQ(Lowered(WithLengths("1,8", "Attention<scale = 0.5>(q, k, v, , , , n)")),
            absl::StrCat(kCounted, "y_0 = Attention<scale = 0.5>(q, k, v, where)"));
  EXPECT_EQ(Lowered(WithLengths("1,8", "Attention<scale = 0.5>(q, k, v, m, , , n)")),
            absl::StrCat(kCounted,
                         "add = Add(m, where) "
                         "y_0 = Attention<scale = 0.5>(q, k, v, add)"));
  // The last query sees all that count.
  EXPECT_EQ(Lowered(WithLengths("2,8", "Attention<is_causal = 1, scale = 0.5>(q, k, v, , , , n)")),
            "n = Abs({3, 4}) reshape = Reshape(n, {2, 1, 1, 1}) add = Add(reshape, {-1, 0}) "
            "greater = Greater(add, {0, 1, 2, 3}) where = Where(greater, {0}, {-inf}) "
            "y_0 = Attention<scale = 0.5>(q, k, v, where)");
}

// The kernel that reads lengths takes few queries.
TEST(LowerAttentionTest, LengthsOfManyQueriesAreAMask) {
  const auto lowered = [](std::string_view queries) {
    return Lowered(absl::StrCat("g (float16[2,4,", queries,
                                ",64] q, float16[2,2,4,64] k, float16[2,2,4,64] v) => (y) "
                                "<int64[2] l = {3,4}> { n = Abs(l) "
                                "y = Attention<scale = 0.125>(q, k, v, , , , n) }"));
  };
  EXPECT_EQ(lowered("8"), "");
  EXPECT_EQ(lowered("9"), absl::StrCat(kCounted, "y_0 = Attention<scale = 0.125>(q, k, v, where)"));
}

TEST(LowerAttentionTest, LeavesWhatRunsAndOtherForms) {
  const auto lowered = [](std::string_view node, std::string_view outputs = "y") {
    return Lowered(Text(absl::StrCat(kHeads, ", bool[5,7] m, bool[5,1] r"), node, outputs));
  };
  const std::string all = "y, float16[2,2,7,8] a, float16[2,2,7,8] b";
  EXPECT_EQ(lowered("y = Attention(q, k, v)"), "");
  EXPECT_EQ(lowered("y = Attention<is_causal = 1>(q, k, v)"), "");
  EXPECT_EQ(lowered("y = Attention<softcap = 3.0>(q, k, v, m)"), "its scores are capped");
  EXPECT_EQ(lowered("y, a, b, c = Attention(q, k, v, m)", all + ", float16[2,4,5,7] c"),
            "it gives its scores too");
  EXPECT_EQ(lowered("y, a, b = Attention(q, k, v, m)", all), "its cache has no past");
  EXPECT_EQ(lowered("y = Attention(q, k, v, r)"), "its mask has not one element per key");
  EXPECT_EQ(Lowered(Text("float[2,4,5,8] q, float[2,4,7,8] k, float[2,4,7,8] v, bool[5,7] m",
                         "y = Attention(q, k, v, m)")),
            "it is not of f16 or bf16");
  EXPECT_EQ(Lowered(Text("float16[1,1,5000,8] q, float16[1,1,5000,8] k, float16[1,1,5000,8] v, "
                         "bool[1,5000] m",
                         "y = Attention(q, k, v, m)")),
            "a mask for it would be large");
  // Heads of 12 channels: only our kernel for few keys takes them.
  EXPECT_EQ(Lowered(Text("float16[1,1,5,12] q, float16[1,1,4096,12] k, float16[1,1,4096,12] v, "
                         "bool[5,4096] m",
                         "y = Attention(q, k, v, m)")),
            "no engine takes another form of it");
  EXPECT_EQ(
      Lowered(Text(absl::StrCat(kHeads, ", bool[5,7] m"), "y = Attention(q, k, v, m)"), "cpu"), "");
}

}  // namespace
}  // namespace onnx_cudnn
