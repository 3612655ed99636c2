#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// A Graph in which `node` makes t of x, f32[2,3], and its Relu is the output.
std::string Around(std::string_view node, std::string_view constants = "") {
  return absl::StrCat("g (float[2,3] x) => (float y) ", constants, " { ", node, " y = Relu(t) }");
}
constexpr std::string_view kGone = "g (f32[2,3] x) => (f32[2,3] y) { y = Relu(x) }";

TEST(EliminateIdentityTest, DropsIdentity) {
  ExpectRewrite(EliminateIdentity(), Around("t = Identity(x)"), kGone);
}

TEST(EliminateIdentityTest, DropsAChain) {
  ExpectRewrite(EliminateIdentity(), Around("a = Identity(x) b = Dropout(a) t = Identity(b)"),
                kGone);
}

TEST(EliminateIdentityTest, DropsInferenceDropout) {
  ExpectRewrite(EliminateIdentity(), Around("t = Dropout(x)"), kGone);
}

TEST(EliminateIdentityTest, DropsACastToTheSameType) {
  ExpectRewrite(EliminateIdentity(), Around("t = Cast<to = 1>(x)"), kGone);
}

TEST(EliminateIdentityTest, DropsAReshapeToTheSameShape) {
  ExpectRewrite(EliminateIdentity(), Around("t = Reshape(x, s)", "<int64[2] s = {2, 3}>"), kGone);
}

TEST(EliminateIdentityTest, DropsAPadByNothing) {
  ExpectRewrite(EliminateIdentity(), Around("t = Pad(x, p)", "<int64[4] p = {0, 0, 0, 0}>"), kGone);
}

TEST(EliminateIdentityTest, DropsASliceOfEverything) {
  ExpectRewrite(EliminateIdentity(),
                Around("t = Slice(x, s, e)", "<int64[2] s = {0, 0}, int64[2] e = {2, 3}>"), kGone);
}

TEST(EliminateIdentityTest, DropsAConcatOfOne) {
  ExpectRewrite(EliminateIdentity(), Around("t = Concat<axis = 0>(x)"), kGone);
}

TEST(EliminateIdentityTest, DropsASplitIntoOne) {
  ExpectRewrite(EliminateIdentity(), Around("t = Split<axis = 0, num_outputs = 1>(x)"), kGone);
}

TEST(EliminateIdentityTest, DropsTheLeastOfOne) {
  ExpectRewrite(EliminateIdentity(), Around("a = Min(x) t = Sum(a)"), kGone);
}

TEST(EliminateIdentityTest, DropsAnOpenSliceOfAnyShape) {
  ExpectRewrite(EliminateIdentity(), R"(
      g (float[N] x) => (float[N] y) <int64[1] s = {0}, int64[1] e = {9223372036854775807}>
      { t = Slice(x, s, e)
        y = Relu(t) })",
                "g (f32[N] x) => (f32[N] y) { y = Relu(x) }");
}

TEST(EliminateIdentityTest, LetsAnOutputBeAnInput) {
  ExpectRewrite(EliminateIdentity(), "g (float[2] x) => (float[2] y) { y = Identity(x) }",
                "g (f32[2] x) => (f32[2] y = x) { }");
}

TEST(EliminateIdentityTest, LooksIntoBodies) {
  ExpectRewriteInBranch(EliminateIdentity(), "t = Identity(x) p = Relu(t)", "p = Relu(x)");
}

TEST(EliminateIdentityTest, LeavesADropoutWithAUsedMask) {
  ExpectNoRewrite(EliminateIdentity(),
                  "g (float[2] x) => (float[2] y, bool[2] m) { y, m = Dropout(x) }",
                  "its mask is used");
}

TEST(EliminateIdentityTest, LeavesADropoutThatMayTrain) {
  ExpectNoRewrite(
      EliminateIdentity(),
      "g (float[2] x, bool train) => (float[2] y) <float r = {0.5}> { y = Dropout(x, r, train) }",
      "it may run in training mode");
}

TEST(EliminateIdentityTest, LeavesACastToAnotherType) {
  ExpectNoRewrite(EliminateIdentity(), "g (float[2] x) => (double[2] y) { y = Cast<to = 11>(x) }",
                  "it changes the type");
}

TEST(EliminateIdentityTest, LeavesASliceThatReverses) {
  ExpectNoRewrite(EliminateIdentity(), R"(
      g (float[3] x) => (float[3] y) <int64[1] s = {-1}, int64[1] e = {-9}, int64[1] a = {0}, int64[1] p = {-1}>
      { y = Slice(x, s, e, a, p) })",
                  "the steps are not all 1");
}

TEST(EliminateIdentityTest, LeavesASliceOfUnknownShape) {  // N may be larger
  ExpectNoRewrite(EliminateIdentity(),
                  "g (float[N] x) => (float[M] y) <int64[1] s = {0}, int64[1] e = {2147483647}> "
                  "{ y = Slice(x, s, e) }",
                  "the shapes are not known");
}

TEST(EliminateIdentityTest, LeavesASplitIntoTwo) {
  ExpectNoRewrite(EliminateIdentity(), R"(
      g (float[4] x) => (float[2] y, float[2] z)
      { y, z = Split<axis = 0, num_outputs = 2>(x) })",
                  "it has several outputs");
}

TEST(EliminateIdentityTest, LeavesAReshapeOfUnknownShape) {
  ExpectNoRewrite(EliminateIdentity(),
                  "g (float[N,3] x) => (float[N,3] y) <int64[2] s = {-1, 3}> { y = Reshape(x, s) }",
                  "the shapes are not known");
}

TEST(EliminateIdentityTest, LeavesAReshapeToAnotherShape) {
  ExpectNoRewrite(EliminateIdentity(),
                  "g (float[2,3] x) => (float[3,2] y) <int64[2] s = {3, 2}> { y = Reshape(x, s) }",
                  "the shapes differ");
}

TEST(EliminateIdentityTest, LeavesAPadByAnInput) {
  ExpectNoRewrite(EliminateIdentity(),
                  "g (float[2] x, int64[2] p) => (float[N] y) { y = Pad(x, p) }",
                  "the pads are not all a constant 0");
}

}  // namespace
}  // namespace onnx_cudnn
