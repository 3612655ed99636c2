#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(FoldPadTest, AddsToThePadsOfConv) {
  ExpectRewrite(FoldPad(), R"(
      g (float[1,1,4,4] x) => (float[1,1,7,7] y)
        <float[1,1,3,3] w = {1,1,1,1,1,1,1,1,1}, int64[8] p = {0, 0, 1, 2, 0, 0, 2, 1}>
      { t = Pad(x, p)
        y = Conv<pads = [1, 1, 1, 1]>(t, w) })",
                "g (f32[1,1,4,4] x) => (f32[1,1,7,7] y) "
                "{ y = Conv<pads = [2, 3, 3, 2]>(x, <f32[1,1,3,3] 46148c91 1, 1, 1, …>) }");
}

TEST(FoldPadTest, TakesAxes) {
  ExpectRewrite(FoldPad(), R"(
      g (float[1,1,4] x) => (float[1,1,6] y)
        <float[1,1,1] w = {2}, int64[2] p = {1, 1}, float zero = {0}, int64[1] a = {-1}>
      { t = Pad(x, p, zero, a)
        y = Conv(t, w) })",
                "g (f32[1,1,4] x) => (f32[1,1,6] y) { y = Conv<pads = [1, 1]>(x, {2}) }");
}

constexpr std::string_view kOnes = "int64[6] p = {0, 0, 1, 0, 0, 1}";
constexpr std::string_view kFour = "(float[1,1,4] x) => (float[1,1,4] y)";
constexpr std::string_view kSix = "(float[1,1,4] x) => (float[1,1,6] y)";

std::string Text(std::string_view border, std::string_view constants, std::string_view nodes) {
  return absl::StrCat("g ", border, " <", constants, "> { ", nodes, " }");
}

TEST(FoldPadTest, MakesAveragePoolCountThePads) {
  ExpectRewrite(FoldPad(),
                Text(kFour, kOnes, "t = Pad(x, p) y = AveragePool<kernel_shape = [3]>(t)"),
                "g (f32[1,1,4] x) => (f32[1,1,4] y) "
                "{ y = AveragePool<count_include_pad = 1, kernel_shape = [3], pads = [1, 1]>(x) }");
}

TEST(FoldPadTest, FoldsZerosAroundWhatIsNeverNegativeIntoMaxPool) {
  ExpectRewrite(FoldPad(),
                Text(kFour, kOnes, "r = Relu(x) t = Pad(r, p) y = MaxPool<kernel_shape = [3]>(t)"),
                "g (f32[1,1,4] x) => (f32[1,1,4] y) "
                "{ r = Relu(x) y = MaxPool<kernel_shape = [3], pads = [1, 1]>(r) }");
}

TEST(FoldPadTest, FoldsMinusInfinityIntoMaxPool) {  // which the textual syntax cannot say
  Graph graph = GraphFromText(R"(
      g (float[1,1,4] x) => (float[1,1,4] y) <int64[6] p = {0, 0, 1, 0, 0, 1}, float low = {-1}>
      { t = Pad(x, p, low)
        y = MaxPool<kernel_shape = [3]>(t) })");
  PassContext context;
  EXPECT_FALSE(*FoldPad()->Run(graph, context));
  graph.SetInput(*graph.TopologicalOrder()[0], 2,
                 &graph.AddConstant(HostTensor::Of<float>(DType::kF32, {}, {-INFINITY})));
  EXPECT_TRUE(*FoldPad()->Run(graph, context));
  EXPECT_EQ(PrintOnOneLine(graph),
            "g (f32[1,1,4] x) => (f32[1,1,4] y) "
            "{ y = MaxPool<kernel_shape = [3], pads = [1, 1]>(x) }");
}

void ExpectStays(std::string_view border, std::string_view constants, std::string_view nodes,
                 std::string_view reason) {
  ExpectNoRewrite(FoldPad(), Text(border, constants, nodes), reason);
}

TEST(FoldPadTest, LeavesZerosBeforeMaxPool) {
  ExpectStays(kFour, kOnes, "t = Pad(x, p) y = MaxPool<kernel_shape = [3]>(t)",
              "the padding may be larger than all of a window");
}

TEST(FoldPadTest, LeavesAPadAsWideAsTheWindow) {
  ExpectStays("(float[1,1,4] x) => (float[1,1,8] y)", "int64[6] p = {0, 0, 3, 0, 0, 3}",
              "r = Relu(x) t = Pad(r, p) y = MaxPool<kernel_shape = [3]>(t)",
              "a pad is as wide as the window");
}

TEST(FoldPadTest, LeavesIndicesOfMaxPool) {
  ExpectStays("(float[1,1,4] x) => (float[1,1,4] y, int64[1,1,4] i)", kOnes,
              "r = Relu(x) t = Pad(r, p) y, i = MaxPool<kernel_shape = [3]>(t)",
              "the indices of the largest are used");
}

TEST(FoldPadTest, LeavesAnAveragePoolWithPadsThatDoNotCount) {
  ExpectStays(kSix, kOnes, "t = Pad(x, p) y = AveragePool<kernel_shape = [3], pads = [1, 1]>(t)",
              "the pool does not count its pads");
}

TEST(FoldPadTest, LeavesCeilMode) {
  ExpectStays("(float[1,1,4] x) => (float[1,1,3] y)", kOnes,
              "t = Pad(x, p) y = AveragePool<kernel_shape = [3], strides = [2], ceil_mode = 1>(t)",
              "ceil_mode counts pads apart");
}

constexpr std::string_view kPad = "the pads are not constants of spatial axes";
constexpr std::string_view kPadAndConv = "t = Pad(x, p) y = Conv(t, w)";

TEST(FoldPadTest, LeavesPadsOfChannels) {
  ExpectStays(kFour, "float[1,2,1] w = {2, 3}, int64[6] p = {0, 1, 0, 0, 0, 0}", kPadAndConv, kPad);
}

TEST(FoldPadTest, LeavesACrop) {
  ExpectStays("(float[1,1,4] x) => (float[1,1,3] y)",
              "float[1,1,1] w = {2}, int64[6] p = {0, 0, -1, 0, 0, 0}", kPadAndConv, kPad);
}

TEST(FoldPadTest, LeavesPadsThatAreAnInput) {
  ExpectStays("(float[1,1,4] x, int64[6] p) => (float[1,1,N] y)", "float[1,1,1] w = {2}",
              kPadAndConv, kPad);
}

TEST(FoldPadTest, LeavesOnesBeforeConv) {
  ExpectStays(kSix, absl::StrCat("float[1,1,1] w = {2}, float one = {1}, ", kOnes),
              "t = Pad(x, p, one) y = Conv(t, w)", "the padding is not 0");
}

TEST(FoldPadTest, LeavesAReflection) {
  ExpectStays(kSix, absl::StrCat("float[1,1,1] w = {2}, ", kOnes),
              "t = Pad<mode = \"reflect\">(x, p) y = Conv(t, w)", "the Pad is not of a constant");
}

TEST(FoldPadTest, LeavesAutoPad) {
  ExpectStays(kSix, absl::StrCat("float[1,1,3] w = {2, 2, 2}, ", kOnes),
              "t = Pad(x, p) y = Conv<auto_pad = \"SAME_UPPER\">(t, w)",
              "auto_pad depends on the padded extents");
}

}  // namespace
}  // namespace onnx_cudnn
