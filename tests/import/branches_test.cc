// Branches of an If that do not fit the surrounding shapes.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/verify.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

// If: y is computed from x by `then`, otherwise negated.
std::string IfText(std::string_view x, std::string_view then, std::string_view constants = "") {
  return absl::StrCat("g (bool c, float[", x, "] x) => (y) <", constants,
                      constants.empty() ? "" : ", ", "float[1,1,8] w = {1, 1, 1, 1, 1, 1, 1, 1}>",
                      "{ y = If(c) < then_branch = t () => (u) { ", then, " }, ",
                      "else_branch = e () => (v) { v = Neg(x) }> }");
}

TEST(BranchesTest, LoadsABranchThatDoesNotFit) {
  for (std::string_view then : {"u = Conv(x, w)",                         // the window
                                "s = Conv(x, w) r = Relu(s) u = Neg(r)",  // and what follows
                                "u = Softmax<axis = 5>(x)",               // the rank
                                "u = Transpose<perm = [1, 0]>(x)",        //
                                "u = MatMul(x, w)",                       // extents
                                "u = MaxPool<kernel_shape = [2, 2]>(x)"}) {
    const absl::StatusOr<Graph> graph = TryGraphFromText(IfText("1,1,6", then));
    ASSERT_TRUE(graph.ok()) << then << ": " << graph.status();
    EXPECT_TRUE(Verify(*graph).ok()) << then << ": " << Verify(*graph);
    const Type& y = graph->outputs()[0].value->type();
    EXPECT_EQ(ToString(y), "f32") << then;  // what the other branch gives
  }
}

TEST(BranchesTest, LoadsABodyInABranchThatDoesNotFit) {
  const absl::StatusOr<Graph> graph = TryGraphFromText(IfText("1,1,6", R"(
      u = Loop<body = b (int64 i, bool k, float[1,1,6] s) => (bool o, d) {
            o = Identity(k) d = Conv(s, w) }>(n, k, x))",
                                                              "int64 n = {2}, bool k = {1}"));
  EXPECT_TRUE(graph.ok()) << graph.status();
}

TEST(BranchesTest, RefusesWhatNoShapeMakesValid) {
  for (std::string_view then : {"u = Conv<strides = [0]>(x, w)", "u = Conv<strid = [1]>(x, w)",
                                "u = Conv(x, none)", "u = Conv(x)"}) {
    EXPECT_EQ(TryGraphFromText(IfText("1,1,6", then)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << then;
  }
}

TEST(BranchesTest, RefusesABranchThatIsAlwaysTaken) {
  const auto load = [](std::string_view condition) {
    return TryGraphFromText(absl::StrCat(
        "g (float[1,1,6] x) => (y) <bool c = {", condition, "}, float[1,1,8] w = ",
        "{1, 1, 1, 1, 1, 1, 1, 1}> { y = If(c) < then_branch = t () => (u) { u = Conv(x, w) }, ",
        "else_branch = e () => (v) { v = Neg(x) }> }"));
  };
  EXPECT_TRUE(absl::StrContains(load("1").status().message(),
                                "(Conv): its window of 8 (kernel 8, dilation 1) is larger"))
      << load("1").status();
  EXPECT_TRUE(load("0").ok()) << load("0").status();
}

}  // namespace
}  // namespace onnx_cudnn
