// Moves of padded axes: the numbers of several lengths.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "runtime/import/expand_function.h"
#include "tests/support/graph_text.h"
#include "tests/support/padded.h"

namespace onnx_cudnn {
namespace {

TEST(ShapeBucketMovesTest, ConcatMovesWhatFollowsPadding) {
  const std::vector<Numbers> runs = {
      {{"N", 5}, {"M", 3}}, {{"N", 2}, {"M", 16}}, {{"N", 16}, {"M", 2}}, {{"N", 16}, {"M", 16}}};
  ExpectPadded(
      "g (float[2,N] x, float[2,M] z, float[2,3] w) => (float[?,?] y) { "
      "y = Concat<axis = 1>(x, w, z) }",
      runs);
  ExpectPadded(
      "g (float[2,N] x, float[2,M] z, float[2,3] w) => (float[?,?] y) { "
      "c = Concat<axis = -1>(x, z, w) t = Transpose(c) y = MatMul(c, t) }",
      runs);
  ExpectPadded("g (float[2,N] x, float[1,N] z) => (float[?,?] y) { y = Concat<axis = 0>(x, z) }",
               runs);
}

TEST(ShapeBucketMovesTest, ReshapesKeepTheAxis) {
  const std::vector<Numbers> runs = {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}};
  ExpectPadded(
      "g (float[1,N,6] x) => (float[?,?,?,?] y) <int64[4] d = {1, -1, 2, 3}> { "
      "y = Reshape(x, d) }",
      runs);
  ExpectPadded("g (float[1,N,6] x) => (float[?,?] y) <int64[2] d = {-1, 2}> { y = Reshape(x, d) }",
               runs);
  ExpectPadded("g (float[1,N,6] x) => (float[?] y) <int64[1] d = {-1}> { y = Reshape(x, d) }",
               runs);
  ExpectPadded(
      "g (float[3,N,6] x) => (float[?,?,?,?] y) <int64[4] d = {0, 0, 2, 3}> { "
      "y = Reshape(x, d) }",
      runs);
  ExpectPadded(
      "g (float[3,N,6] x) => (float[?,?,?,?] y) <int64[1] b = {3}, int64[2] h = {2, -1}> { "
      "n = Shape<start = 1, end = 2>(x) d = Concat<axis = 0>(b, n, h) y = Reshape(x, d) }",
      runs);
  ExpectPadded("g (float[1,N,2] x) => (float[?,?] y) { y = Flatten<axis = 2>(x) }", runs);
}

TEST(ShapeBucketMovesTest, SlicesAndGathersCountFromTheFront) {
  const std::vector<Numbers> runs = {{{"N", 5}}, {{"N", 16}}, {{"N", 3}}};
  const auto slice = [&](std::string_view start, std::string_view end) {
    ExpectPadded(absl::StrCat("g (float[2,N] x) => (float[?,?] y) <int64[1] s = {", start,
                              "}, int64[1] e = {", end,
                              "}, int64[1] axis = {1}> { q = Div(x, x) a = Add(x, q) "
                              "y = Slice(a, s, e, axis) }"),
                 runs);
  };
  slice("1", "9223372036854775807");
  slice("0", "2");
  slice("-1", "9223372036854775807");
  slice("0", "-1");
  slice("-3", "-1");
  const auto gather = [&](std::string_view indices) {
    ExpectPadded(absl::StrCat("g (float[2,N] x) => (float[?,?] y) <int64[2] i = {", indices,
                              "}> { y = Gather<axis = 1>(x, i) }"),
                 runs);
  };
  gather("2, 0");
  gather("-1, -3");
  ExpectPadded("g (float[5,3] x, int64[N] i) => (float[?,?] y) { y = Gather(x, i) }", runs);
  ExpectPadded(
      "g (float[N,3] x, int64[4] i) => (float[?,?] y) <int64 three = {3}> { "
      "n = Sub(i, three) y = Gather(x, n) }",
      runs);
  ExpectPadded("g (float[5,3] x, int64[N,1] i) => (float[?,?] y) { y = GatherND(x, i) }", runs);
}

// Rows of a table at the positions that follow a past of N.
TEST(ShapeBucketMovesTest, SlicesOfTablesStartAtALength) {
  constexpr std::string_view kText = R"(
      g (float[N,2] past, float[M,2] new, float[40,3] table) => (float[?,3] y, float[?,3] z)
      <int64[1] axis = {0}, int64[1] zero = {0}> {
        n = Shape<end = 1>(past) m = Shape<end = 1>(new) end = Add(n, m)
        y = Slice(table, n, end, axis) z = Slice(table, zero, end, axis) })";
  ExpectPadded(kText, {{{"N", 5}, {"M", 1}}, {{"N", 16}, {"M", 1}}});
  ExpectPadded(kText, {{{"N", 5}, {"M", 3}}, {{"N", 16}, {"M", 16}}});
  ExpectPadded(kText, {{{"N", 30}, {"M", 3}}, {{"N", 24}, {"M", 16}}});
}

// Indices of padding lead to padding: here those of a whole tensor, as PyTorch exports a mask that
// is assigned to a slice.
TEST(ShapeBucketMovesTest, ScattersWriteWhatTheModelWrites) {
  ExpectPadded(R"(
      g (float[2,N] x, float[2,N] w) => (float[2,?] y)
      <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] last = {-1}, int64[2] col = {2, 1}> {
        s = Shape<start = 1>(x) n = Squeeze(s) r = Range(zero, two, one) c = Range(zero, n, one)
        d = Shape(x) rows = Reshape(r, col) i = Expand(rows, d) j = Expand(c, d)
        i2 = Unsqueeze(i, last) j2 = Unsqueeze(j, last) k = Concat<axis = -1>(i2, j2)
        y = ScatterND(x, k, w) })");
  ExpectPadded(
      "g (float[N,3] x, int64[2,1] i, float[2,3] w) => (float[?,?] y) <int64 three = {3}> { "
      "j = Sub(i, three) y = ScatterND(x, j, w) }");
  ExpectPadded(
      "g (float[1,2,N,3] x, float[1,2,1,3] w, int64[1] at) => (float[?,?,?,?] y, float z) { "
      "y = TensorScatter(x, w, at) z = ReduceSum<keepdims = 0>(y) }");
}

// A cache of N elements for T keys, which grows unless it has room: the larger number decides.
constexpr std::string_view kCacheOfKeys = R"(
    g (float[1,2,N,3] x, float[1,2,1,3] w, int64[1] at, float[1,T] keys) => (float[?,?,?,?] y, float z)
    <int64[1] zero = {0}, int64[1] two = {2}> {
      t = Shape<start = 1>(keys) n = Shape<start = 2, end = 3>(x) m = Max(t, n) more = Sub(m, n)
      p = Concat<axis = 0>(zero, more) grown = Pad(x, p, , two)
      y = TensorScatter(grown, w, at) z = ReduceSum<keepdims = 0>(y) })";

TEST(ShapeBucketMovesTest, TheLargerLengthIsThatOfTheRun) {
  ExpectPadded(kCacheOfKeys, {{{"N", 5}, {"T", 6}}, {{"N", 16}, {"T", 17}}, {{"N", 7}, {"T", 7}}});
  ExpectPadded(kCacheOfKeys, {{{"N", 16}, {"T", 6}}, {{"N", 16}, {"T", 16}}, {{"N", 9}, {"T", 2}}});
  const auto padded =
      PadLengths(GraphFromText(kCacheOfKeys), {{1, 2, 5, 3}, {1, 2, 1, 3}, {1}, {1, 6}},
                 kAllLengths, {.functions = &kOnnxFunctions});
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_TRUE(LengthsOf(*padded, {{1, 2, 5, 3}, {1, 2, 1, 3}, {1}, {1, 5}}).ok());
  EXPECT_FALSE(LengthsOf(*padded, {{1, 2, 6, 3}, {1, 2, 1, 3}, {1}, {1, 5}}).ok());
}

// A prompt: a padded length is written, at another position in each batch.
TEST(ShapeBucketMovesTest, WhatIsWrittenToACacheMayBePadded) {
  constexpr std::string_view kPrompt = R"(
      g (float[2,2,N,3] x, float[2,2,S,3] w, int64[2] at, float[1,T] keys) => (float[?,?,?,?] y, float z)
      <int64[1] zero = {0}, int64[1] two = {2}> {
        t = Shape<start = 1>(keys) n = Shape<start = 2, end = 3>(x) m = Max(t, n) more = Sub(m, n)
        p = Concat<axis = 0>(zero, more) grown = Pad(x, p, , two)
        y = TensorScatter(grown, w, at) z = ReduceSum<keepdims = 0>(y) })";
  ExpectPadded(kPrompt, {{{"N", 0}, {"S", 4}, {"T", 5}},
                         {{"N", 3}, {"S", 4}, {"T", 7}},
                         {{"N", 0}, {"S", 15}, {"T", 16}}});
  ExpectPadded(kPrompt, {{{"N", 16}, {"S", 4}, {"T", 5}}, {{"N", 16}, {"S", 15}, {"T", 16}}});
  ExpectPadded(R"(
      g (float[2,N,3] x, float[2,S,3] w) => (float[?,?,?] y, float z) {
        y = TensorScatter(x, w) z = ReduceSum<keepdims = 0>(y) })",
               {{{"N", 9}, {"S", 4}}, {{"N", 16}, {"S", 16}}});
}

TEST(ShapeBucketMovesTest, GathersOfElementsReadTheirOwnPlaces) {
  const std::vector<Numbers> runs = {{{"N", 5}}, {{"N", 16}}, {{"N", 3}}};
  ExpectPadded(
      "g (float[2,N] x, int64[2,4] i) => (float[?,?] y) <int64 three = {3}> { "
      "n = Sub(i, three) y = GatherElements<axis = 1>(x, n) }",
      runs);
  ExpectPadded(
      "g (float[N,3] x, int64[N,2] i) => (float[?,?] y, float z) <int64 three = {3}> { "
      "n = Sub(i, three) y = GatherElements<axis = -1>(x, n) z = ReduceSum<keepdims = 0>(y) }",
      runs);
  ExpectPadded(
      "g (float[N,3] x, int64[2,3] i) => (float[?,?] y) { y = GatherElements<axis = 1>(x, i) }",
      runs);
  ExpectPadded("g (float[4,3] x, int64[N,2] i) => (float[?,?] y) { y = GatherElements(x, i) }",
               runs);
  ExpectNotPadded(
      "g (float[4,3] x, int64[N,2] i) => (float[?,?] y) { y = GatherElements<axis = 1>(x, i) }",
      {{"N", 3}}, "its indices are longer than axis 0");
  ExpectNotPadded("g (float[0,3] x, int64[N,2] i) => (float[?,?] y) { y = GatherElements(x, i) }",
                  {{"N", 3}}, "its axis is empty");
}

TEST(ShapeBucketMovesTest, ScattersOfElementsWriteTheirOwnPlaces) {
  const std::vector<Numbers> runs = {{{"N", 5}}, {{"N", 16}}, {{"N", 3}}};
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    // Along the padded axis of the data; all indices of a run differ.
    ExpectPadded(absl::StrCat("g (float[2,N] x, float[2,3] w) => (float[?,?] y, float z) "
                              "<int64[2,3] i = {0, -1, 1, -2, 0, 1}> { "
                              "y = ScatterElements<axis = 1, reduction = \"",
                              reduction, "\">(x, i, w) z = ReduceSum<keepdims = 0>(y) }"),
                 {{{"N", 5}}, {{"N", 16}}, {{"N", 7}}});
    // Rows at the padded axis, of which each has two indices.
    ExpectPadded(absl::StrCat("g (float[N,3] x, float[N,2] w) => (float[?,?] y, float z) "
                              "<int64[1,2] i = {-1, 0}> { s = Shape(w) j = Expand(i, s) "
                              "y = ScatterElements<axis = 1, reduction = \"",
                              reduction, "\">(x, j, w) z = ReduceSum<keepdims = 0>(y) }"),
                 runs);
  }
  // A padded number of indices, into data of any extent.
  ExpectPadded(
      "g (float[3,2] x, int64[N,2] i, float[N,2] w) => (float[?,?] y) <int64 three = {3}> { "
      "n = Sub(i, three) y = ScatterElements<reduction = \"add\">(x, n, w) }",
      runs);
  ExpectPadded(
      "g (float[N,2] x, float[N,2] w) => (float[?,?] y, float z) <int64 zero = {0}, int64 one = "
      "{1}, "
      "int64[2] col = {-1, 1}> { s = Shape(x) t = Shape<end = 1>(x) n = Squeeze(t) "
      "r = Range(zero, n, one) c = Reshape(r, col) i = Expand(c, s) "
      "y = ScatterElements(x, i, w) z = ReduceSum<keepdims = 0>(y) }",
      runs);
  ExpectNotPadded(
      "g (float[40,2] x, int64[N,2] i, float[N,2] w) => (float[?,?] y) { "
      "y = ScatterElements<axis = 1>(x, i, w) }",
      "differ for some lengths");
  ExpectNotPadded(
      "g (float[N,2] x, int64[20,2] i, float[20,2] w) => (float[?,?] y) { "
      "y = ScatterElements<axis = 1>(x, i, w) }",
      "its indices are longer than axis 0");
}

TEST(ShapeBucketMovesTest, SlicesInStepsAlongAxesWithoutPadding) {
  const auto slice = [](std::string_view start, std::string_view end, std::string_view step) {
    ExpectPadded(absl::StrCat("g (float[N,7] x) => (float[?,?] y) <int64[1] s = {", start,
                              "}, int64[1] e = {", end, "}, int64[1] axis = {1}, int64[1] step = {",
                              step, "}> { y = Slice(x, s, e, axis, step) }"));
  };
  slice("1", "7", "2");
  slice("0", "9223372036854775807", "3");
  slice("-1", "-9", "-2");
}

TEST(ShapeBucketMovesTest, PadAddsInFrontAndWhereZerosAre) {
  ExpectPadded(
      "g (float[2,N] x) => (float[?,?] y) <int64[4] p = {1, 2, 0, 0}, float v = {7}> { "
      "y = Pad(x, p, v) }");
  ExpectPadded("g (float[2,N] x) => (float[?,?] y) <int64[4] p = {0, 0, 0, 3}> { y = Pad(x, p) }");
}

}  // namespace
}  // namespace onnx_cudnn
