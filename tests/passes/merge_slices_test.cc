#include <array>

#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(MergeSlicesTest, JoinsCutsOfDifferentAxes) {  // no extent need be known
  ExpectRewrite(MergeSlices(), R"(
      g (float[N,M] x) => (float[A,B] y)
        <int64[1] s = {1}, int64[1] e = {9}, int64[1] a = {1}, int64[1] b = {0}, int64[1] p = {-2}, int64[1] t = {-9}>
      { u = Slice(x, s, e, a)
        y = Slice(u, e, t, b, p) })",
                R"(g (f32[N,M] x) => (f32[A,B] y = y_0) {
        y_0 = Slice(x, {9, 1}, {-9, 9}, {0, 1}, {-2, 1}) })");
}

TEST(MergeSlicesTest, JoinsCutsOfOneAxis) {  // 1, 3, 5, 7 of 10, of these 3, 7
  ExpectRewrite(MergeSlices(), R"(
      g (float[10] x) => (float[2] y)
        <int64[1] s = {1}, int64[1] e = {-1}, int64[1] a = {0}, int64[1] p = {2}, int64[1] f = {100}>
      { t = Slice(x, s, e, a, p)
        y = Slice(t, s, f, a, p) })",
                "g (f32[10] x) => (f32[2] y = y_0) { y_0 = Slice(x, {3}, {8}, {0}, {4}) }");
}

TEST(MergeSlicesTest, JoinsCutsThatLeaveNothing) {
  ExpectRewrite(MergeSlices(), R"(
      g (float[10] x) => (float[0] y)
        <int64[1] s = {2}, int64[1] e = {4}, int64[1] f = {100}, int64[1] a = {0}>
      { t = Slice(x, s, e, a)
        y = Slice(t, s, f, a) })",
                "g (f32[10] x) => (f32[0] y = y_0) { y_0 = Slice(x, {0}, {0}, {0}) }");
}

TEST(MergeSlicesTest, LeavesANegativeStep) {
  ExpectNoRewrite(MergeSlices(), R"(
      g (float[10] x) => (float[4] y)
        <int64[1] s = {4}, int64[1] e = {-100}, int64[1] a = {0}, int64[1] p = {-1}, int64[1] o = {1}, int64[1] f = {5}>
      { t = Slice(x, s, e, a, p)
        y = Slice(t, o, f, a) })",
                  "a step is negative");
}

TEST(MergeSlicesTest, LeavesAnUnknownExtent) {
  ExpectNoRewrite(MergeSlices(), R"(
      g (float[N] x) => (float[A] y) <int64[1] s = {1}, int64[1] e = {-1}, int64[1] a = {0}>
      { t = Slice(x, s, e, a)
        y = Slice(t, s, e, a) })",
                  "the extent of an axis that both cut is not known");
}

TEST(MergeSlicesTest, LeavesBoundsThatAreInputs) {
  ExpectNoRewrite(MergeSlices(), R"(
      g (float[10] x, int64[1] s) => (float[A] y) <int64[1] e = {-1}>
      { t = Slice(x, s, e)
        y = Slice(t, s, e) })",
                  "starts, ends, axes and steps are not all known");
}

TEST(MergeSlicesTest, FlattensConcats) {
  ExpectRewrite(MergeSlices(), R"(
      g (float[2,1] a, float[2,1] b, float[2,1] c) => (float[2,3] y)
      { t = Concat<axis = -1>(a, b)
        y = Concat<axis = 1>(t, c) })",
                R"(g (f32[2,1] a, f32[2,1] b, f32[2,1] c) => (f32[2,3] y) {
        y = Concat<axis = 1>(a, b, c) })");
}

TEST(MergeSlicesTest, LeavesAConcatWithOtherUsers) {  // DenseNet would get O(n²) inputs
  ExpectNoRewrite(MergeSlices(), R"(
      g (float[2] a, float[2] b, float[2] c) => (float[4] t, float[6] y)
      { t = Concat<axis = 0>(a, b)
        y = Concat<axis = 0>(t, c) })",
                  "the Concat before has other users");
}

TEST(MergeSlicesTest, NestsConcatsThatBeginAlike) {  // as in a DenseNet: O(n) inputs in all
  ExpectRewrite(MergeSlices(), R"(
      g (float[1,2] a, float[1,2] b, float[1,2] c, float[1,2] d)
        => (float[1,4] t, float[1,6] u, float[1,8] v)
      { t = Concat<axis = 1>(a, b)
        u = Concat<axis = -1>(a, b, c)
        s = Concat<axis = 1>(a, b, c, d)
        v = Relu(s) })",
                R"(g (f32[1,2] a, f32[1,2] b, f32[1,2] c, f32[1,2] d)
                   => (f32[1,4] t, f32[1,6] u, f32[1,8] v) {
        t = Concat<axis = 1>(a, b)
        u = Concat<axis = -1>(t, c)
        s = Concat<axis = 1>(u, d)
        v = Relu(s) })");
}

TEST(MergeSlicesTest, LeavesConcatsThatDoNotBeginAlike) {
  const char* const texts[] = {// another order; another axis; shapes
                               R"(g (float[2,2] a, float[2,2] b) => (float[2,4] y, float[2,6] z)
         { t = Concat<axis = 1>(a, b) y = Relu(t) u = Concat<axis = 1>(b, a, b) z = Relu(u) })",
                               R"(g (float[2,2] a, float[2,2] b) => (float[4,2] y, float[2,6] z)
         { t = Concat<axis = 0>(a, b) y = Relu(t) u = Concat<axis = 1>(a, b, b) z = Relu(u) })",
                               R"(g (float[2] a, float[2] b) => (float[4] y, float[6] z)
         { t = Concat<axis = 0>(a, b) y = Relu(t) u = Concat<axis = 0>(a, b, b) z = Relu(u) })"};
  for (const char* text : texts) ExpectNoRewrite(MergeSlices(), text, "");
}

TEST(MergeSlicesTest, LeavesAConcatOfAnotherAxis) {
  ExpectNoRewrite(MergeSlices(), R"(
      g (float[2,2] a, float[2,2] b, float[4,2] c) => (float[4,4] y)
      { t = Concat<axis = 0>(a, b)
        y = Concat<axis = 1>(t, c) })",
                  "");
}

TEST(MergeSlicesTest, DropsASplitThatIsJoined) {
  ExpectRewrite(MergeSlices(), R"(
      g (float[2,N] x) => (float[2,N] y)
      { a, b = Split<axis = 1, num_outputs = 2>(x)
        t = Concat<axis = -1>(a, b)
        y = Relu(t) })",
                "g (f32[2,N] x) => (f32[2,N] y) { y = Relu(x) }");
}

TEST(MergeSlicesTest, LeavesPartsInAnotherOrder) {
  ExpectNoRewrite(MergeSlices(), R"(
      g (float[4] x) => (float[4] y)
      { a, b = Split<axis = 0, num_outputs = 2>(x)
        y = Concat<axis = 0>(b, a) })",
                  "");
}

TEST(MergeSlicesTest, LeavesSomeOfTheParts) {
  ExpectNoRewrite(MergeSlices(), R"(
      g (float[6] x) => (float[4] y)
      { a, b, c = Split<axis = 0, num_outputs = 3>(x)
        y = Concat<axis = 0>(a, b) })",
                  "");
}

TEST(MergeSlicesTest, DropsSlicesThatAreJoined) {
  ExpectRewrite(MergeSlices(), R"(
      g (float[2,5] x) => (float[2,5] y)
        <int64[1] o = {0}, int64[1] m = {2}, int64[1] e = {9}, int64[1] a = {1}>
      { s = Slice(x, o, m, a)
        t = Slice(x, m, e, a)
        u = Concat<axis = 1>(s, t)
        y = Relu(u) })",
                "g (f32[2,5] x) => (f32[2,5] y) { y = Relu(x) }");
}

// [0, m) and [n, e) of 5: with a gap, with an overlap, without the end.
TEST(MergeSlicesTest, LeavesSlicesThatAreNotTheWhole) {
  for (const auto& [m, n, e, length] : {std::array{2, 3, 9, 4}, {3, 2, 9, 6}, {2, 2, 4, 4}}) {
    ExpectNoRewrite(MergeSlices(),
                    absl::Substitute(R"(
      g (float[5] x) => (float[$3] y)
        <int64[1] o = {0}, int64[1] m = {$0}, int64[1] n = {$1}, int64[1] e = {$2}, int64[1] a = {0}>
      { s = Slice(x, o, m, a)
        t = Slice(x, n, e, a)
        y = Concat<axis = 0>(s, t) })",
                                     m, n, e, length),
                    "");
  }
}

TEST(MergeSlicesTest, IsNearLinear) {
  Graph graph;
  Value& x = graph.AddInput("x", Type::Tensor(DType::kF32, {1}));
  Value* v = &x;
  for (int i = 0; i < 20000; ++i) {
    Node& node =
        graph.AddNode({.op = "Concat", .inputs = {v, &x}, .attrs = {{"axis", int64_t{0}}}});
    v = &node.output(0);
    graph.SetType(*v, Type::Tensor(DType::kF32, {i + 2}));
  }
  graph.AddOutput("y", *v);
  ExpectChangesFast(MergeSlices(), graph);
  EXPECT_LT(graph.node_count(), 1000);
}

}  // namespace
}  // namespace onnx_cudnn
