// Graphs padded to buckets: for each rule the numbers of several lengths, with padding that is NaN
// before the op under test, and the forms that no rule covers.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/graph_text.h"
#include "tests/support/padded.h"

namespace onnx_cudnn {
namespace {

TEST(ShapeBucketsTest, BucketsGrowByAHalfOrAThird) {
  EXPECT_EQ(BucketOf(0), 16);
  EXPECT_EQ(BucketOf(2), 16);
  EXPECT_EQ(BucketOf(16), 16);
  EXPECT_EQ(BucketOf(17), 24);
  EXPECT_EQ(BucketOf(25), 32);
  EXPECT_EQ(BucketOf(33), 48);
  EXPECT_EQ(BucketOf(48), 48);
  EXPECT_EQ(BucketOf(49), 64);
  EXPECT_EQ(BucketOf(1000), 1024);
}

TEST(ShapeBucketsTest, KeysAndPastReachTheEndOfABucketTogether) {
  const Graph graph = GraphFromText(
      "g (float[N,T] x, float[B,1] y) => (float[N,T] z, float[B,1] w) { z = Relu(x) w = Relu(y) }");
  const auto buckets = [&](int64_t n, int64_t t, int64_t b) {
    return BucketDims(graph, std::vector<Dims>{{n, t}, {b, 1}}, kAllLengths);
  };
  EXPECT_EQ(buckets(16, 17, 1), (std::vector<Dims>{{16, 17}, {1, 1}}));
  EXPECT_EQ(buckets(17, 18, 5), (std::vector<Dims>{{24, 25}, {16, 1}}));
  EXPECT_EQ(buckets(16, 18, 0), (std::vector<Dims>{{16, 24}, {16, 1}}));
  EXPECT_EQ(
      BucketDims(graph, std::vector<Dims>{{16, 17}, {5, 1}}, {.all = false, .symbols = {"T"}}),
      (std::vector<Dims>{{16, 24}, {5, 1}}));
}

TEST(ShapeBucketsTest, ElementWiseOpsAndMovesPassPadding) {
  ExpectPaddedAfterNan("y = Relu(a)");
  ExpectPaddedAfterNan(
      "t = Transpose<perm = [1,0,2]>(a) u = Transpose<perm = [1,0,2]>(x) "
      "y = Add(t, u)");
  ExpectPaddedAfterNan("z = Unsqueeze(a, one) r = Relu(z) y = Squeeze(r, one)");
  ExpectPaddedAfterNan("y, z = Split<axis = 2, num_outputs = 2>(a)",
                       "float[?,?,?] y, float[?,?,?] z");
  ExpectPaddedAfterNan("y = Trilu<upper = 0>(a)");
  ExpectPaddedAfterNan("y = Cast<to = 10>(a)", "float16[?,?,?] y");
}

TEST(ShapeBucketsTest, SumsSkipPadding) {
  ExpectPaddedAfterNan("t = Transpose<perm = [0,2,1]>(a) y = MatMul(t, a)");
  ExpectPaddedAfterNan("t = Transpose<perm = [0,2,1]>(a) y = MatMul(a, t)");
  ExpectPadded(
      "g (float[4,N] x, float[N,2] w, float[2] b) => (float[?,?] y) { q = Div(x, x) a = Add(x, q) "
      "y = Gemm(a, w, b) }");
  ExpectPadded(
      "g (float[N,4] x, float[2,N] w) => (float[?,?] y) { q = Div(x, x) a = Add(x, q) "
      "y = Gemm<transA = 1, transB = 1>(a, w) }");
  ExpectPadded(
      "g (float[N] x, float[N,2] w) => (float[?] y) { q = Div(x, x) a = Add(x, q) "
      "y = MatMul(a, w) }");
}

TEST(ShapeBucketsTest, ReductionsSkipPadding) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
                         "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"}) {
    ExpectPaddedAfterNan(absl::StrCat("y = ", op, "(a, one)"));
    ExpectPaddedAfterNan(absl::StrCat("y = ", op, "<keepdims = 0>(a, two)"), "float[?,?] y");
    if (std::string_view(op) == "ReduceProd") continue;  // of all elements it is infinite
    ExpectPaddedAfterNan(absl::StrCat("y = ", op, "<keepdims = 0>(a)"), "float y");
  }
  ExpectPaddedAfterNan("y = ArgMax<axis = 1>(a)", "int64[?,?,?] y");
  ExpectPaddedAfterNan("y = ArgMin<axis = -2, keepdims = 0>(a)", "int64[?,?] y");
  ExpectPaddedAfterNan("y = CumSum(a, one)");
  ExpectPaddedAfterNan("y = CumSum<reverse = 1, exclusive = 1>(a, one)");
}

TEST(ShapeBucketsTest, NormsAndSoftmax) {
  ExpectPaddedAfterNan("y = Softmax<axis = 1>(a)");
  ExpectPaddedAfterNan("y = LogSoftmax<axis = -2>(a)");
  ExpectPaddedAfterNan(
      "s = Softmax<axis = 1>(a) t = Transpose<perm = [0,2,1]>(s) y = MatMul(t, a)");
  ExpectPadded(
      "g (float[3,N,4] x, float[4] s) => (float[?,?,?] y) { y = LayerNormalization(x, s) }");
}

TEST(ShapeBucketsTest, SizesAndPositionsAreComputedFromLengths) {
  const std::vector<Numbers> runs = {{{"N", 5}}, {{"N", 16}}, {{"N", 0}}};
  ExpectPadded("g (float[2,N] x) => (int64[2] y, int64 z) { y = Shape(x) z = Size(x) }", runs);
  ExpectPadded(
      "g (float[2,N] x) => (int64[?] y) <int64 zero = {0}, int64 one = {1}, int64 axis = {1}> { "
      "s = Shape(x) n = Gather(s, axis) y = Range(zero, n, one) }",
      runs);
  ExpectPadded(
      "g (float[2,N] x) => (int64[?] y) <int64 two = {2}, int64 one = {1}> { "
      "s = Shape<start = 1>(x) n = Squeeze(s) end = Add(n, two) y = Range(n, end, one) }",
      runs);
  ExpectPadded(
      "g (float[2,N] x) => (float[?,?] y) <int64[1] three = {3}> { "
      "s = Shape<start = 1>(x) d = Concat<axis = 0>(three, s) y = ConstantOfShape(d) }",
      runs);
  ExpectPadded(
      "g (float[2,N] x) => (float[?,?] y) <int64[1] mark = {-1}, int64[2] ones = {1, 1}> { "
      "s = Shape(x) e = Equal(s, mark) d = Where(e, ones, s) m = ReduceSum(x) y = Expand(m, d) }",
      runs);
}

TEST(ShapeBucketsTest, LengthsThatMustBeEqualBecomeOne) {
  constexpr std::string_view kText = R"(
      g (float[2,N] past, float[2,1] new, float[2,T] mask) => (float[2,?] y)
      { all = Concat<axis = 1>(past, new) y = Add(all, mask) })";
  ExpectPadded(kText, {{{"N", 5}, {"T", 6}}, {{"N", 16}, {"T", 17}}});
  const Graph graph = GraphFromText(kText);
  const auto padded = PadLengths(graph, {{2, 5}, {2, 1}, {2, 6}}, kAllLengths, {});
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_EQ(padded->graph.inputs()[2]->dims(), (Dims{2, 17}));
  EXPECT_FALSE(LengthsOf(*padded, {{2, 5}, {2, 1}, {2, 7}}).ok());
  // The pasts of two layers, of which only sums meet.
  ExpectPadded(R"(
      g (float[2,N] past, float[2,P] other, float[2,M] new) => (float[2,?] y) {
        all = Concat<axis = 1>(past, new) more = Concat<axis = 1>(other, new) y = Add(all, more) })",
               {{{"N", 5}, {"P", 5}, {"M", 3}}, {{"N", 16}, {"P", 16}, {"M", 16}}});
}

TEST(ShapeBucketsTest, FunctionsAreExpanded) {
  ExpectPadded(
      "g (float[1,2,N,4] q, float[1,2,M,4] k, float[1,2,M,4] v) => (float[?,?,?,?] y) "
      "{ y = Attention(q, k, v) }",
      {{{"N", 5}, {"M", 7}}, {{"N", 16}, {"M", 2}}});
  for (const char* causal : {"0", "1"}) {
    ExpectPadded(absl::StrCat("g (float[1,2,1,4] q, float[1,2,1,4] k, float[1,2,1,4] v, "
                              "float[1,2,N,4] pk, float[1,2,N,4] pv) => (float[?,?,?,?] y, "
                              "float[?,?,?,?] nk, float[?,?,?,?] nv) "
                              "{ y, nk, nv = Attention<is_causal = ",
                              causal, ">(q, k, v, , pk, pv) }"),
                 {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}});
  }
}

TEST(ShapeBucketsTest, AConditionOfTheLengthsIsChecked) {
  const Graph graph = GraphFromText(
      "g (float[2,N] x) => (float[?,?] y) <int64[1] s = {0}, int64[1] e = {4}, int64[1] axis = "
      "{1}> "
      "{ y = Slice(x, s, e, axis) }");
  const auto padded = PadLengths(graph, {{2, 9}}, kAllLengths, {});
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_TRUE(LengthsOf(*padded, {{2, 4}}).ok());
  EXPECT_FALSE(LengthsOf(*padded, {{2, 3}}).ok());  // it gives 3 elements
}

TEST(ShapeBucketsTest, TheLargestAreNoPadding) {
  ExpectPaddedAfterNan("y, i = TopK<axis = 1>(a, two)", "float[?,?,?] y, int64[?,?,?] i");
  ExpectPadded(  // -infinities, lower indices first
      "g (float[N] x) => (int64[?] i) { low = Log(x) n = Sub(low, low) m = Log(n) "
      "k = Shape(x) y, i = TopK(m, k) }",
      {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}});
  ExpectPadded(
      "g (int64[2,N] x) => (int64[?,?] y) <int64[1] two = {2}> { y, i = TopK<largest = 0>(x, two) "
      "}",
      {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}});
}

// Infinities and NaN, which come last, are still in front of padding.
TEST(ShapeBucketsTest, TheSmallestAreNoPadding) {
  const std::vector<Numbers> runs = {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}};
  ExpectPadded(
      "g (int64[2,N] x) => (int64[?,?] y) <int64[1] two = {2}> { y, i = TopK<largest = 0>(x, two) "
      "}",
      runs);
  ExpectPadded(
      "g (float[N] x) => (int64[?] i) <float two = {2}, int64[1] none = {0}> { "
      "low = Sub(x, x) is_small = Less(x, two) m = Div(low, low) z = Log(low) inf = Neg(z) "
      "v = Where(is_small, m, inf) k = Shape(x) y, i = TopK<largest = 0>(v, k) }",
      runs);
  ExpectPaddedAfterNan("y, i = TopK<axis = 1, largest = 0>(a, two)",
                       "float[?,?,?] y, int64[?,?,?] i");
  ExpectNotPadded(
      "g (float[2,N] x, int64[1] k) => (float[?,?] y) { y, i = TopK<largest = 0>(x, k) }",
      "does not follow linearly");
}

TEST(ShapeBucketsTest, QuantizationPassesPadding) {
  const std::vector<Numbers> runs = {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}};
  ExpectPaddedAfterNan(
      "s = Constant<value_float = 0.25>() z = Constant<value = uint8 {7}>() "
      "u = QuantizeLinear(a, s, z) d = DequantizeLinear(u, s, z) y = ReduceSum(d, one)");
  ExpectPadded(
      "g (float[N,3] x) => (float[?,?] y, int8[?,?] q) <float[3] s = {0.5, 0.25, 0.125}> { "
      "z = Constant<value = int8[3] {1, 2, 3}>() q = QuantizeLinear<axis = -1>(x, s, z) "
      "y = DequantizeLinear(q, s, z) }",
      runs);
  ExpectPadded(
      "g (float[N,3] x, float[N] s) => (int8[?,?] q) { "
      "z = Constant<value = int8 {0}>() t = Cast<to = 3>(s) e = Sub(t, t) "
      "q = QuantizeLinear<axis = 0>(x, s, e) }",
      runs);
  ExpectPadded(
      "g (float[N,4] x, float[N,2] s) => (uint8[?,?] q) { "
      "q = QuantizeLinear<axis = 1, block_size = 2>(x, s) }",
      runs);
  ExpectNotPadded(
      "g (float[4,N] x, float[4,1] s) => (uint8[?,?] q) { "
      "q = QuantizeLinear<axis = 1, block_size = 99>(x, s) }",
      "blocks along padded axis 1");
  ExpectNotPadded(
      "g (float[N,3] x) => (uint8[?,?] q) <float[7] s = {1, 1, 1, 1, 1, 1, 1}> { "
      "q = QuantizeLinear<axis = 0>(x, s) }",
      "differ for some lengths");
  ExpectNotPadded(
      "g (float[N,3] x, float s) => (int4[?,?] q) { q = QuantizeLinear<output_dtype = 22>(x, s) }",
      "padding of i4");
}

TEST(ShapeBucketsTest, ProductsOfIntegersPadRowsAndBatches) {
  const std::vector<Numbers> runs = {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}};
  ExpectPadded(
      "g (float[N,2,3] x, float[3,4] w) => (int32[?,?,?] y) { "
      "p = Constant<value = uint8 {1}>() q = Constant<value = uint8[4] {1, 2, 3, 4}>() "
      "a = Cast<to = 2>(x) b = Cast<to = 2>(w) y = MatMulInteger(a, b, p, q) }",
      runs);
  ExpectPadded(
      "g (float[N,3] x, float[3,4] w, float s) => (float[?,?] y) { "
      "z = Constant<value = uint8 {3}>() a = QuantizeLinear(x, s, z) b = QuantizeLinear(w, s, z) "
      "c = QLinearMatMul(a, s, z, b, s, z, s, z) y = DequantizeLinear(c, s, z) }",
      runs);
  ExpectPadded(
      "g (float[N,2,4,4] x, float[3,2,3,3] w) => (int32[?,?,?,?] y) { "
      "p = Constant<value = uint8 {1}>() "
      "a = Cast<to = 2>(x) b = Cast<to = 2>(w) y = ConvInteger(a, b, p) }",
      runs);
  ExpectPadded(
      "g (float[N,2,4,4] x, float[3,2,3,3] w, float s) => (uint8[?,?,?,?] y) { "
      "z = Constant<value = uint8 {3}>() a = QuantizeLinear(x, s, z) b = QuantizeLinear(w, s, z) "
      "y = QLinearConv(a, s, z, b, s, z, s, z) }",
      runs);
  ExpectNotPadded(
      "g (float[2,N] x, float[N,4] w) => (int32[?,?] y) { "
      "a = Cast<to = 2>(x) b = Cast<to = 2>(w) y = MatMulInteger(a, b) }",
      "sums over a padded axis");
  ExpectNotPadded(
      "g (float[N,3] x, float[3,4] w, float[N] s) => (int32[?,?] y) { "
      "a = Cast<to = 2>(x) b = Cast<to = 2>(w) p = Cast<to = 2>(s) y = MatMulInteger(a, b, p) }",
      "input 2 is by row");
  ExpectNotPadded(
      "g (float[1,2,N,4] x, float[3,2,3,3] w) => (int32[?,?,?,?] y) { "
      "a = Cast<to = 2>(x) b = Cast<to = 2>(w) y = ConvInteger(a, b) }",
      "it reads padded axis 2 of input 0");
}

TEST(ShapeBucketsTest, ImagesOfABatchAreComputedAlone) {
  ExpectPadded(
      "g (float[N,2,4,4] x, float[3,2,3,3] w) => (float[?,?,?,?] y) "
      "{ c = Conv<pads = [1,1,1,1]>(x, w) p = MaxPool<kernel_shape = [2,2]>(c) "
      "q = AveragePool<kernel_shape = [2,2]>(p) y = GlobalAveragePool(q) }",
      {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}});
  ExpectPadded(
      "g (float[2,2,6,6] x, float[N,4] regions, int64[N] images) => (float[?,?,?,?] y) "
      "<int64 two = {2}> { i = Mod(images, two) "
      "y = RoiAlign<output_height = 2, output_width = 2>(x, regions, i) }",
      {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}});
  ExpectNotPadded(
      "g (float[0,2,6,6] x, float[N,4] regions, int64[N] images) => (float[?,?,?,?] y) "
      "{ y = RoiAlign(x, regions, images) }",
      "no images");
}

TEST(ShapeBucketsTest, ResizesOfOtherAxes) {
  const std::vector<Numbers> runs = {{{"N", 5}}, {{"N", 16}}, {{"N", 2}}};
  ExpectPaddedAfterNan(
      "s = Constant<value_floats = [1.0, 1.0, 2.0]>() y = Resize<mode = \"linear\">(a, , s)");
  ExpectPaddedAfterNan(
      "s = Constant<value_floats = [2.0, 1.0, 0.5]>() "
      "y = Resize<mode = \"cubic\", antialias = 1>(a, , s)");
  ExpectPaddedAfterNan(
      "s = Constant<value_ints = [6, 2]>() y = Resize<axes = [0, -1], "
      "coordinate_transformation_mode = \"align_corners\">(a, , , s)");
  for (const char* coordinates : {"half_pixel", "asymmetric", "pytorch_half_pixel",
                                  "half_pixel_symmetric", "align_corners"}) {
    ExpectPadded(absl::StrCat("g (float[1,N,3] x) => (float[?,?,?] y) <int64[1] rest = {6}, "
                              "int64[1] first = {2}> { n = Shape<start = 1, end = 2>(x) "
                              "s = Concat<axis = 0>(first, n, rest) y = Resize<mode = \"linear\", "
                              "coordinate_transformation_mode = \"",
                              coordinates, "\">(x, , , s) }"),
                 runs);
  }
  const auto refused = [](std::string_view body, std::string_view reason) {
    ExpectNotPadded(
        absl::StrCat("g (float[1,N,3] x, float[3] t) => (float[?,?,?] y) <int64[1] six = {6}, "
                     "int64[1] two = {2}, float[3] s = {1, 2, 1}, float[3] one = {1, 1, 1}, "
                     "float[6] roi = {0, 0, 0, 1, 1, 1}> { "
                     "n = Shape<start = 1, end = 2>(x) ",
                     body, " }"),
        reason);
  };
  refused("y = Resize(x, , s)", "resizes padded axis 1");
  refused("y = Resize(x, , t)", "its scales are not constant");
  refused("m = Add(n, n) d = Concat<axis = 0>(two, m, six) y = Resize(x, , , d)", "by a length");
  refused("d = Concat<axis = 0>(two, n, n) y = Resize(x, , , d)", "resizes axis 2 by a length");
  refused(
      "d = Concat<axis = 0>(two, n, six) "
      "y = Resize<keep_aspect_ratio_policy = \"not_larger\">(x, , , d)",
      "by a length");
  refused("y = Resize<coordinate_transformation_mode = \"tf_crop_and_resize\">(x, roi, one)",
          "resizes padded axis 1");
}

TEST(ShapeBucketsTest, WhatHasNoRuleIsRefused) {
  ExpectNotPadded("g (float[0] x, int64[N] i) => (float[?] y) { y = Gather(x, i) }",
                  "its axis is empty");
  ExpectNotPadded("g (float[1,2,N] x, float[2,2,3] w) => (float[?,?,?] y) { y = Conv(x, w) }",
                  "it reads padded axis 2 of input 0");
  ExpectNotPadded("g (float[2,N] x) => (float[?,?] y) { y = Hardmax(x) }", "no rule");
  ExpectNotPadded("g (float[2,N] x) => (float[?] y) <int64[1] d = {-1}> { y = Reshape(x, d) }",
                  "merges a padded axis");
  ExpectNotPadded("g (float[N] x) => (float[?,?] y) <int64[2] d = {-1, 2}> { y = Reshape(x, d) }",
                  {{"N", 6}}, "splits a padded axis");
  ExpectNotPadded(
      "g (float[2,N] x) => (float[?,?] y) <int64[1] s = {-1}, int64[1] e = {-99}, "
      "int64[1] axis = {1}, int64[1] step = {-1}> { y = Slice(x, s, e, axis, step) }",
      "step");
  ExpectNotPadded(
      "g (float[2,N] x) => (float[?] y) <int64 two = {2}> { s = Shape<start = 1>(x) "
      "h = Div(s, two) y = ConstantOfShape(h) }",
      {{"N", 5}}, "the shape of \"y\" is not known");
  ExpectNotPadded("g (float[2,N] x) => (float[?,?] y) <int64[2] r = {1, 2}> { y = Tile(x, r) }",
                  "repeats");
  ExpectNotPadded("g (float[2,N] x, float[N] s) => (float[?,?] y) { y = LayerNormalization(x, s) }",
                  "normalizes over axis 1");
  ExpectNotPadded(
      "g (float[2,N] x) => (float[?,?] y) <int64[4] p = {0, 0, 0, 1}, float v = {2}> { "
      "y = Pad(x, p, v) }",
      "adds behind");
  ExpectNotPadded(
      "g (float[40] x, int64[N,1] i, float[N] w) => (float[40] y) { "
      "y = ScatterND(x, i, w) }",
      "its data is not like them");
  ExpectNotPadded("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }", {}, "no input has a dim");
  ExpectNotPadded("g (float[2,N] x) => (float[?,?] y) { y = Relu(x) }", {{"N", 1}},
                  "no input has a dim");
}

}  // namespace
}  // namespace onnx_cudnn
