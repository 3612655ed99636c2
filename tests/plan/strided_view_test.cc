// Values as views of others: expected strides and offsets are computed by hand.
#include "runtime/plan/strided_view.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

// "dims strides offset" of y in x, through all Nodes; "" if it is no view.
std::string ViewOf(std::string_view x, std::string_view nodes, std::string_view constants = "") {
  const Graph graph =
      GraphFromText(absl::StrCat("g (float", x, " x) => (y) <", constants, "> { ", nodes, " }"));
  std::vector<const Node*> all;
  for (const Node* node : graph.TopologicalOrder()) all.push_back(node);
  const std::optional<StridedView> view = ViewThrough(*graph.outputs()[0].value, all);
  if (!view.has_value()) return "";
  EXPECT_EQ(view->source, graph.inputs()[0]);
  return absl::StrCat(ToString(absl::MakeConstSpan(view->dims)), " ",
                      ToString(absl::MakeConstSpan(view->strides)), " ", view->offset);
}

void ExpectNoView(std::string_view x, std::string_view nodes, std::string_view constants = "") {
  EXPECT_EQ(ViewOf(x, nodes, constants), "");
}

TEST(StridedViewTest, HeadsOfOneOfThreeProjections) {
  EXPECT_EQ(ViewOf("[2,5,48]",
                   "p = Slice(x, b, e, a) r = Reshape(p, s) y = Transpose<perm = [0,2,1,3]>(r)",
                   "int64[1] b = {16}, int64[1] e = {32}, int64[1] a = {2}, "
                   "int64[4] s = {2, 5, 4, 4}"),
            "[2,4,5,4] [240,4,48,1] 16");
}

TEST(StridedViewTest, HeadsOfAPackedProjection) {
  constexpr std::string_view kTurned = "r = Reshape(x, s) t = Transpose<perm = [2,0,3,1,4]>(r) ";
  EXPECT_EQ(ViewOf("[2,5,48]", absl::StrCat(kTurned, "y = Gather(t, i)"),
                   "int64[5] s = {2, 5, 3, 4, 4}, int64 i = {-1}"),
            "[2,4,5,4] [240,4,48,1] 32");
  EXPECT_EQ(ViewOf("[2,5,48]", absl::StrCat(kTurned, "y = Gather(t, i)"),
                   "int64[5] s = {2, 5, 3, 4, 4}, int64[1] i = {1}"),
            "[1,2,4,5,4] [16,240,4,48,1] 16");
  EXPECT_EQ(ViewOf("[2,5,48]", absl::StrCat(kTurned, "p, q, o = Split(t, n) y = Squeeze(q, a)"),
                   "int64[5] s = {2, 5, 3, 4, 4}, int64[3] n = {1, 1, 1}, int64[1] a = {0}"),
            "[2,4,5,4] [240,4,48,1] 16");
}

TEST(StridedViewTest, ReshapesJoinDimsThatLieAsOne) {
  EXPECT_EQ(ViewOf("[2,3,4]", "y = Reshape(x, s)", "int64[2] s = {6, 4}"), "[6,4] [4,1] 0");
  EXPECT_EQ(ViewOf("[2,3,4]", "y = Reshape(x, s)", "int64[4] s = {3, 1, 2, 4}"),
            "[3,1,2,4] [8,8,4,1] 0");
  EXPECT_EQ(ViewOf("[2,6,4]", "p = Slice(x, b, e, a) y = Reshape(p, s)",
                   "int64[1] b = {1}, int64[1] e = {4}, int64[1] a = {1}, int64[2] s = {2, 12}"),
            "[2,12] [24,1] 4");
  EXPECT_EQ(ViewOf("[2,1,4]", "t = Transpose<perm = [1,0,2]>(x) y = Reshape(t, s)",
                   "int64[2] s = {2, 4}"),
            "[2,4] [4,1] 0");
}

TEST(StridedViewTest, LeavesWhatMovesElements) {
  ExpectNoView("[2,3,4]", "t = Transpose<perm = [1,0,2]>(x) y = Reshape(t, s)",
               "int64[2] s = {6, 4}");
  ExpectNoView("[2,6,4]", "p = Slice(x, b, e, a) y = Reshape(p, s)",
               "int64[1] b = {1}, int64[1] e = {4}, int64[1] a = {1}, int64[2] s = {6, 4}");
  ExpectNoView("[2,6,4]", "y = Slice(x, b, e, a, t)",
               "int64[1] b = {0}, int64[1] e = {4}, int64[1] a = {1}, int64[1] t = {2}");
  ExpectNoView("[2,6,4]", "y = Gather(x, i)", "int64[2] i = {1, 0}");
  ExpectNoView("[2,6,4]", "y = Neg(x)");
}

}  // namespace
}  // namespace onnx_cudnn
