#include "gtest/gtest.h"
#include "passes/rewrite/rewrites.h"
#include "tests/support/graph_text.h"
#include "tests/support/rewrite.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kAlone = R"(
      g (float[1,2,3] x) => (float[1,2,3] y)
        <float[2] gamma = {4, 2}, float[2] beta = {1, 0}, float[2] mean = {5, 1}, float[2] var = {4, 1}>
      { y = BatchNormalization<epsilon = 0.0>(x, gamma, beta, mean, var) })";

TEST(LowerBatchNormTest, BecomesAFactorAndAnAddend) {
  ExpectRewrite(LowerBatchNorm(), kAlone,
                "g (f32[1,2,3] x) => (f32[1,2,3] y = y_3) "
                "{ y_2 = Mul(x, {2, 2}) y_3 = Add(y_2, {-9, -2}) }");
}

TEST(LowerBatchNormTest, StaysWholeOnTheCpu) {
  Graph graph = GraphFromText(kAlone);
  const Target cpu;
  PassContext context{.target = &cpu};
  EXPECT_FALSE(*LowerBatchNorm()->Run(graph, context));
}

TEST(LowerBatchNormTest, LeavesTrainingMode) {
  ExpectNoRewrite(LowerBatchNorm(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y)
        <float[1] gamma = {4}, float[1] beta = {1}, float[1] mean = {5}, float[1] var = {4}>
      { y, m, v = BatchNormalization<training_mode = 1>(x, gamma, beta, mean, var) })",
                  "it is in training mode");
}

TEST(LowerBatchNormTest, LeavesStatisticsThatAreInputs) {
  ExpectNoRewrite(LowerBatchNorm(), R"(
      g (float[1,1,3] x, float[1] mean) => (float[1,1,3] y)
        <float[1] gamma = {4}, float[1] beta = {1}, float[1] var = {4}>
      { y = BatchNormalization(x, gamma, beta, mean, var) })",
                  "statistics are not constants");
}

TEST(LowerBatchNormTest, LeavesAZeroVarianceWithoutEpsilon) {
  ExpectNoRewrite(LowerBatchNorm(), R"(
      g (float[1,1,3] x) => (float[1,1,3] y)
        <float[1] gamma = {4}, float[1] beta = {1}, float[1] mean = {5}, float[1] var = {0}>
      { y = BatchNormalization<epsilon = 0.0>(x, gamma, beta, mean, var) })",
                  "a factor is not finite in its type");
}

}  // namespace
}  // namespace onnx_cudnn
