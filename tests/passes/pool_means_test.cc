#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

TEST(PoolMeansTest, TakesAllSpatialAxes) {
  const auto expect = [](std::string_view dims, std::string_view axes, std::string_view ones) {
    SCOPED_TRACE(dims);
    ExpectRewrite(
        PoolMeans(),
        absl::StrCat("g (float", dims, " x) => (y) <int64", axes, "> { y = ReduceMean(x, a) }"),
        absl::StrCat("g (f32", dims, " x) => (f32[N,3", ones,
                     "] y = y_0) { y_0 = GlobalAveragePool(x) }"));
  };
  expect("[N,3,7,1]", "[2] a = {2, 3}", ",1,1");
  expect("[N,3,H,W]", "[2] a = {2, 3}", ",1,1");
  expect("[N,3,4,5]", "[2] a = {-1, 2}", ",1,1");
  expect("[N,3,4,5,6]", "[3] a = {4, 2, 3}", ",1,1,1");
}

void ExpectStays(std::string_view input, std::string_view axes, std::string_view reason,
                 std::string_view attributes = "") {
  ExpectNoRewrite(PoolMeans(),
                  absl::StrCat("g (", input, " x) => (y) <int64", axes, "> { y = ReduceMean",
                               attributes, "(x, a) }"),
                  reason);
}

TEST(PoolMeansTest, LeavesOtherAxes) {
  constexpr std::string_view kReason = "it does not average all spatial axes and keep them";
  ExpectStays("float[1,3,4,5]", "[1] a = {2}", kReason);
  ExpectStays("float[1,3,4,5]", "[1] a = {3}", kReason);
  ExpectStays("float[1,3,4,5]", "[3] a = {1, 2, 3}", kReason);
  ExpectStays("float[1,3,4,5]", "[2] a = {1, 3}", kReason);
  ExpectStays("float[1,3,4,5]", "[2] a = {2, 3}", kReason, "<keepdims = 0>");
  ExpectNoRewrite(PoolMeans(), "g (float[1,3,4,5] x) => (y) { y = ReduceMean(x) }", kReason);
  ExpectNoRewrite(PoolMeans(),
                  "g (float[1,3,4,5] x) => (y) { y = ReduceMean<noop_with_empty_axes = 1>(x) }",
                  kReason);
  ExpectNoRewrite(PoolMeans(), "g (float[1,3,4,5] x, int64[2] a) => (y) { y = ReduceMean(x, a) }",
                  kReason);
}

TEST(PoolMeansTest, LeavesOtherTypesAndRanks) {
  ExpectStays("double[1,3,4,5]", "[2] a = {2, 3}", "");
  ExpectStays("int32[1,3,4,5]", "[2] a = {2, 3}", "");
  ExpectStays("float[1,3]", "[1] a = {1}", "");
  ExpectStays("float[1,3,7]", "[1] a = {2}", "");
  ExpectStays("float[1,3,2,2,2,2]", "[4] a = {2, 3, 4, 5}", "");
}

TEST(PoolMeansTest, LeavesNoPixels) {
  ExpectStays("float[1,3,0,5]", "[2] a = {2, 3}", "there are no pixels");
}

TEST(PoolMeansTest, LeavesSquares) {
  for (const char* square : {"Mul(x, x)", "Pow(x, two)"}) {
    ExpectNoRewrite(PoolMeans(),
                    absl::StrCat("g (float[1,3,4,5] x) => (y) <int64[2] a = {2, 3}, float two = "
                                 "{2}> { s = ",
                                 square, " y = ReduceMean(s, a) }"),
                    "a mean of squares needs the range of f32");
  }
}

TEST(PoolMeansTest, TheNumbersAreTheSame) {
  ExpectSameNumbers(PoolMeans(),
                    "g (float[2,3,4,5] x) => (y) <int64[2] a = {2, 3}> { y = ReduceMean(x, a) }",
                    1e-6F);
}

TEST(PoolMeansTest, FollowsAConvolutionIntoF16) {
  Graph graph = GraphFromText(R"(
      g (float[1,1,4,4] x) => (float[1,1,1,1] y) <float[1,1,1,1] w = {2}, int64[2] a = {2, 3}>
      { t = Conv(x, w)
        y = ReduceMean(t, a) })");
  PassContext context;
  ASSERT_TRUE(RunPasses(graph, MakePipeline(2, DType::kF16), {}, context).ok());
  DType pooled = DType::kUndefined;
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() == "GlobalAveragePool") pooled = node->input(0).dtype();
  }
  EXPECT_EQ(pooled, DType::kF16) << PrintOnOneLine(graph);
}

}  // namespace
}  // namespace onnx_cudnn
