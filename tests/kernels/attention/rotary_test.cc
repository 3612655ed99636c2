// Which rotary embeddings run in one launch.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

// Queries of 4 heads and keys of 2 out of rows of 64, heads of 8.
constexpr std::string_view kInputs =
    "g (float16[2,5,64] o, float16[2,4,5,8] q, float16[2,2,5,8] k, float16[1,1,5,8] c, "
    "float16[1,1,5,8] s, float16[5,8] b, float16[1,1,5,4] hc, float16[5,4] hs, float16[5,2] qc, "
    "float16[5,2] qs) => (";
constexpr std::string_view kConstants =
    "int64[1] zero = {0}, int64[1] half = {4}, int64[1] all = {8}, int64[1] last = {3}, "
    "int64[1] three = {3}, int64[1] from = {32}, int64[1] to = {64}, int64[1] two = {2}, "
    "int64[4] heads = {2, 5, 4, 8}, int64[2] halves = {4, 4}, int64[1] one = {1}, "
    "int64[1] six = {6}, int64[1] fourth = {4}, int64[4] given = {2, 4, 5, 8}, "
    "int64[3] joined = {2, 4, 40}";

class RotaryTest : public KernelsTest {
 protected:
  static std::string Text(std::string_view nodes, std::string_view outputs = "y") {
    return absl::StrCat(kInputs, outputs, ") <", kConstants, "> { ", nodes, " }");
  }
};

constexpr std::string_view kRotary =
    "l = Slice(q, zero, half, last) h = Slice(q, half, all, last) n = Neg(h) "
    "r = Concat<axis = -1>(n, l) a = Mul(q, c) d = Mul(r, s) y = Add(a, d) ";
constexpr std::string_view kLargest = "{Slice Slice Mul Neg Concat Mul Add}";

TEST_F(RotaryTest, TakesAnEmbeddingFromAnyOfItsNodes) {
  for (const char* anchor : {"Slice", "Concat", "Mul"}) {
    ExpectCases({{anchor, Text(kRotary), anchor, std::string(kLargest)}});
  }
  ExpectCases({
      {"factors in front, a sum in the other order",
       Text("l = Slice(q, zero, half, last) h = Slice(q, half, all, last) n = Neg(h) "
            "r = Concat<axis = 3>(n, l) d = Mul(b, r) a = Mul(c, q) y = Add(d, a)"),
       "Concat", "{Slice Slice Neg Concat Mul Mul Add}"},
      {"halves by a Split",
       Text("l, h = Split<axis = 3>(q, halves) n = Neg(h) r = Concat<axis = -1>(n, l) "
            "a = Mul(q, c) d = Mul(r, s) y = Add(a, d)"),
       "Concat", "{Split Mul Neg Concat Mul Add}"},
  });
}

// As the standard defines RotaryEmbedding, with one angle for both halves.
constexpr std::string_view kByHalves =
    "l = Slice(q, zero, half, last) h = Slice(q, half, all, last) a = Mul(l, hc) d = Mul(h, hs) "
    "e = Sub(a, d) f = Mul(l, hs) i = Mul(hc, h) j = Add(f, i) y = Concat<axis = -1>(e, j) ";

TEST_F(RotaryTest, TakesTheStandardsForm) {
  const std::string largest = "{Slice Slice Mul Mul Sub Mul Mul Add Concat}";
  for (const char* anchor : {"Slice", "Concat", "Mul"}) {
    ExpectCases({{anchor, Text(kByHalves), anchor, largest}});
  }
  ExpectCases({{"halves by a Split",
                Text("l, h = Split<axis = 3>(q, halves) a = Mul(l, hc) d = Mul(h, hs) "
                     "e = Sub(a, d) i = Mul(hc, h) f = Mul(l, hs) j = Add(i, f) "
                     "y = Concat<axis = 3>(e, j)"),
                "Concat", "{Split Mul Mul Sub Mul Mul Add Concat}"}});
}

// Of the first four channels; the others are moved.
constexpr std::string_view kPartial =
    "f = Slice(q, zero, half, last) l = Slice(f, zero, two, last) h = Slice(f, two, half, last) "
    "n = Neg(h) r = Concat<axis = -1>(n, l) a = Mul(f, hc) d = Mul(r, hs) e = Add(a, d) "
    "p = Slice(q, half, all, last) y = Concat<axis = -1>(e, p) ";
constexpr std::string_view kPartialByHalves =
    "l = Slice(q, zero, two, last) h = Slice(q, two, half, last) a = Mul(l, qc) d = Mul(h, qs) "
    "e = Sub(a, d) i = Mul(h, qc) g = Mul(l, qs) j = Add(i, g) p = Slice(q, half, all, last) "
    "y = Concat<axis = -1>(e, j, p) ";

TEST_F(RotaryTest, TakesAPartOfTheChannels) {
  for (const char* anchor : {"Slice", "Concat", "Mul"}) {
    ExpectCases({{anchor, Text(kPartial), anchor,
                  "{Slice Slice Slice Slice Mul Neg Concat Mul Add Concat}"},
                 {anchor, Text(kPartialByHalves), anchor,
                  "{Slice Slice Slice Mul Mul Sub Mul Mul Add Concat}"}});
  }
  // The first four channels are an embedding of their own if others read it, or if what stands
  // behind them is something else.
  const std::string front = "{Slice Slice Slice Mul Neg Concat Mul Add}";
  ExpectCases({{"read", Text(kPartial, "y, e"), "Mul", front}});
  ExpectCases({{"other channels", Text(absl::StrReplaceAll(kPartial, {{"half, all", "two, six"}})),
                "Mul", front}});
}

// Each channel with its neighbour: as the standard defines it, and as GPT-J exports it.
constexpr std::string_view kNeighbours =
    "l = Slice(q, zero, all, last, two) h = Slice(q, one, all, last, two) a = Mul(l, hc) "
    "d = Mul(h, hs) e = Sub(a, d) i = Mul(h, hc) f = Mul(l, hs) j = Add(i, f) "
    "u = Unsqueeze(e, fourth) v = Unsqueeze(j, fourth) w = Concat<axis = -1>(u, v) "
    "y = Reshape(w, given) ";
constexpr std::string_view kGptJ =
    "l = Slice(q, zero, all, last, two) h = Slice(q, one, all, last, two) n = Neg(h) "
    "u = Unsqueeze(n, fourth) v = Unsqueeze(l, fourth) w = Concat<axis = -1>(u, v) "
    "r = Reshape(w, given) a = Mul(q, c) d = Mul(r, s) y = Add(a, d) ";

TEST_F(RotaryTest, TakesPairsOfNeighbours) {
  for (const char* anchor : {"Slice", "Concat", "Mul", "Reshape"}) {
    ExpectCases({{anchor, Text(kNeighbours), anchor,
                  "{Slice Slice Mul Mul Sub Unsqueeze Mul Mul Add Unsqueeze Concat Reshape}"},
                 {anchor, Text(kGptJ), anchor,
                  "{Slice Slice Mul Neg Unsqueeze Unsqueeze Concat Reshape Mul Add}"}});
  }
  // Heads that are joined behind it.
  ExpectCases({{"joined", Text(absl::StrReplaceAll(kNeighbours, {{"given", "joined"}})), "Concat",
                "{Slice Slice Mul Mul Sub Unsqueeze Mul Mul Add Unsqueeze Concat Reshape}"}});
}

TEST_F(RotaryTest, ReadsXWhereItLies) {
  ExpectCases({{"a part of a product",
                Text(absl::StrCat("p = Slice(o, from, to, two) t = Reshape(p, heads) "
                                  "q2 = Transpose<perm = [0,2,1,3]>(t) "
                                  "l = Slice(q2, zero, half, last) h = Slice(q2, half, all, last) "
                                  "n = Neg(h) r = Concat<axis = -1>(n, l) a = Mul(q2, c) "
                                  "d = Mul(r, s) y = Add(a, d)")),
                "Concat", "{Slice Reshape Transpose Slice Slice Mul Neg Concat Mul Add}"}});
}

TEST_F(RotaryTest, TakesTwoOutOfOneValue) {
  const auto rotary = [](std::string_view x, std::string_view end) {
    return absl::StrReplaceAll(
        "l# = Slice($, zero, half, last) h# = Slice($, half, all, last) n# = Neg(h#) "
        "r# = Concat<axis = -1>(n#, l#) a# = Mul($, c) d# = Mul(r#, s) y# = Add(a#, d#) ",
        {{"$", x}, {"#", end}});
  };
  const std::string heads =
      "e = Slice(o, zero, from, two) f = Reshape(e, heads) u = Transpose<perm = [0,2,1,3]>(f) "
      "g = Slice(o, from, to, two) i = Reshape(g, heads) w = Transpose<perm = [0,2,1,3]>(i) ";
  ExpectCases(
      {{"queries and keys", Text(heads + rotary("u", "1") + rotary("w", "2"), "y1, y2"), "Concat",
        "{Slice Reshape Transpose Slice Slice Mul Neg Concat Mul Add "
        "Slice Reshape Transpose Slice Slice Mul Neg Concat Mul Add}"},
       {"of two Values", Text(rotary("q", "1") + rotary("k", "2"), "y1, y2"), "Concat",
        std::string(kLargest)}});
}

TEST_F(RotaryTest, PutsKeysAndValuesIntoCaches) {
  // A product of one token: 8 queries and 8 keys and values of 2 heads each.
  const auto largest = [&](std::string_view moves) {
    const std::string text = absl::StrCat(
        "g (float16[2,1,48] o, float16[2,1,1,8] c, float16[2,1,1,8] s, float16[2,2,9,8] keys, "
        "float16[2,2,9,8] values, int64[2] at, int64[2] elsewhere) => (pk, pv) <",
        kConstants,
        ", int64[1] first = {16}, int64[1] second = {32}, int64[1] third = {48}, "
        "int64[4] shared = {2, 2, 1, 8}> { e = Slice(o, first, second, two) q = Reshape(e, "
        "shared) ",
        kRotary, "f = Slice(o, second, third, two) v = Reshape(f, shared) ", moves, " }");
    size_t most = 0;
    for (const Candidate& candidate : At(GraphFromText(text), "Concat").candidates) {
      most = std::max(most, candidate.nodes.size());
    }
    return most;
  };
  EXPECT_EQ(largest("pk = TensorScatter<axis = 2>(keys, y, at) "
                    "pv = TensorScatter<axis = 2>(values, v, at)"),
            13u);
  // Values at other places or of something else stay apart, and keys that another Node reads.
  EXPECT_EQ(largest("pk = TensorScatter<axis = 2>(keys, y, at) "
                    "pv = TensorScatter<axis = 2>(values, v, elsewhere)"),
            10u);
  EXPECT_EQ(largest("b = Abs(v) pk = TensorScatter<axis = 2>(keys, y, at) "
                    "pv = TensorScatter<axis = 2>(values, b, at)"),
            10u);
  EXPECT_EQ(largest("pk = TensorScatter<axis = 2>(keys, y, at) pv = Add(y, v)"), 9u);
}

TEST_F(RotaryTest, LeavesWhatIsNone) {
  const auto leaves = [&](std::string_view nodes, std::string_view outputs = "y") {
    SCOPED_TRACE(nodes);
    for (const Candidate& candidate :
         At(GraphFromText(Text(nodes, outputs)), "Concat").candidates) {
      EXPECT_EQ(candidate.nodes.size(), 1u) << Describe(candidate);
    }
  };
  // Another half is negated.
  leaves(
      "l = Slice(q, zero, half, last) h = Slice(q, half, all, last) n = Neg(l) "
      "r = Concat<axis = -1>(h, n) a = Mul(q, c) d = Mul(r, s) y = Add(a, d)");
  leaves(
      "l = Slice(q, zero, half, last) h = Slice(q, half, all, last) n = Neg(l) "
      "r = Concat<axis = -1>(n, h) a = Mul(q, c) d = Mul(r, s) y = Add(a, d)");
  // Halves of something else.
  leaves(
      "e = Abs(q) l = Slice(e, zero, half, last) h = Slice(e, half, all, last) n = Neg(h) "
      "r = Concat<axis = -1>(n, l) a = Mul(q, c) d = Mul(r, s) y = Add(a, d)");
  // Another reader of a Value within.
  leaves(kRotary, "y, r");
  leaves(kRotary, "y, n");
  leaves(kByHalves, "y, l");
  leaves(kByHalves, "y, e");
  // Sines that differ, a sum of something else, a difference in the other order.
  const auto leaves_changed = [&](std::string_view from, std::string_view to) {
    ASSERT_NE(kByHalves.find(from), kByHalves.npos);
    leaves(absl::StrReplaceAll(kByHalves, {{from, to}}));
  };
  leaves_changed("f = Mul(l, hs)", "f = Mul(l, hc)");
  leaves_changed("i = Mul(hc, h)", "i = Mul(hc, l)");
  leaves_changed("e = Sub(a, d)", "e = Sub(d, a)");
  leaves_changed("Concat<axis = -1>(e, j)", "Concat<axis = -1>(j, e)");
  // Halves that are joined like neighbours, neighbours like halves.
  leaves(absl::StrReplaceAll(kNeighbours, {{"zero, all, last, two", "zero, half, last"},
                                           {"one, all, last, two", "half, all, last"}}));
  leaves_changed("l = Slice(q, zero, half, last) h = Slice(q, half, all, last)",
                 "l = Slice(q, zero, all, last, two) h = Slice(q, one, all, last, two)");
  leaves(absl::StrReplaceAll(kNeighbours, {{"(u, v)", "(v, u)"}}));
}

}  // namespace
}  // namespace onnx_cudnn
