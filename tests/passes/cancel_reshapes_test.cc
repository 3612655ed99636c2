#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(CancelReshapesTest, MakesOneOfAChain) {
  ExpectRewrite(CancelReshapes(), R"(
      g (float[2,3,4] x) => (float[4,6] y) <int64[1] a = {0}, int64[2] s = {4, 6}>
      { t = Flatten<axis = 1>(x)
        u = Unsqueeze(t, a)
        y = Reshape(u, s) })",
                "g (f32[2,3,4] x) => (f32[4,6] y = y_2) { y_2 = Reshape(x, {4, 6}) }");
}

TEST(CancelReshapesTest, DropsAChainThatComesBack) {
  ExpectRewrite(CancelReshapes(), R"(
      g (float[2,3] x) => (float[2,3] y) <int64[1] s = {6}, int64[2] r = {2, 3}>
      { t = Reshape(x, s)
        u = Reshape(t, r)
        y = Relu(u) })",
                "g (f32[2,3] x) => (f32[2,3] y) { y = Relu(x) }");
}

TEST(CancelReshapesTest, DropsUnsqueezeAndSqueezeOfEqualAxes) {  // whatever the shape is
  ExpectRewrite(CancelReshapes(), R"(
      g (float[N,M,K] x) => (float[N,M,K] y) <int64[2] a = {3, 0}, int64[2] b = {0, 3}>
      { t = Unsqueeze(x, a)
        u = Squeeze(t, b)
        y = Relu(u) })",
                "g (f32[N,M,K] x) => (f32[N,M,K] y) { y = Relu(x) }");
}

TEST(CancelReshapesTest, InfersTheOneUnknownExtent) {
  ExpectRewrite(CancelReshapes(), R"(
      g (float[N,3,4] x) => (float[N,6,2] y) <int64[2] s = {-1, 2}, int64[3] r = {-1, 6, 2}>
      { t = Reshape(x, s)
        y = Reshape(t, r) })",
                "g (f32[N,3,4] x) => (f32[N,6,2] y = y_0) { y_0 = Reshape(x, {-1, 6, 2}) }");
}

TEST(CancelReshapesTest, KeepsEmptyTensors) {
  ExpectRewrite(CancelReshapes(), R"(
      g (float[2,0] x) => (float[0,5] y) <int64[1] s = {0}, int64[2] r = {0, 5}>
      { t = Reshape<allowzero = 1>(x, s)
        y = Reshape<allowzero = 1>(t, r) })",
                "g (f32[2,0] x) => (f32[0,5] y = y_0) { y_0 = Reshape<allowzero = 1>(x, {0, 5}) }");
}

TEST(CancelReshapesTest, KeepsTheFirstForItsOtherUsers) {
  ExpectRewrite(CancelReshapes(), R"(
      g (float[2,3] x) => (float[6] t, float[3,2] y) <int64[1] s = {6}, int64[2] r = {3, 2}>
      { t = Reshape(x, s)
        y = Reshape(t, r) })",
                R"(g (f32[2,3] x) => (f32[6] t, f32[3,2] y = y_0) {
        t = Reshape(x, {6}) y_0 = Reshape(x, {3, 2}) })");
}

TEST(CancelReshapesTest, LeavesACopiedUnknownDim) {  // 0 copies a dim of t, not of x
  ExpectNoRewrite(CancelReshapes(), R"(
      g (float[N,M] x) => (float[A,B] y) <int64[2] s = {-1, 2}, int64[2] r = {0, -1}>
      { t = Unsqueeze(x, s)
        y = Reshape(t, r) })",
                  "two extents of the output are not known");
}

TEST(CancelReshapesTest, LeavesAShapeFromAnInput) {
  ExpectNoRewrite(CancelReshapes(), R"(
      g (float[2,3] x, int64[2] r) => (float[A,B] y) <int64[1] s = {6}>
      { t = Reshape(x, s)
        y = Reshape(t, r) })",
                  "two extents of the output are not known");
}

TEST(CancelReshapesTest, LeavesOneReshapeAlone) {
  ExpectNoRewrite(CancelReshapes(), R"(
      g (float[2,3] x) => (float[6] y) <int64[1] s = {6}>
      { t = Relu(x)
        y = Reshape(t, s) })",
                  "input 0 is not reshaped");
}

}  // namespace
}  // namespace onnx_cudnn
