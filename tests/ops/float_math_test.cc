#include "runtime/ops/float_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace onnx_cudnn {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kUlp = 0x1p-23;

using Function = void (*)(const float*, float*, int64_t);

// The largest error over [low, high] against `exact` in double, in units in the last place.
double WorstUlps(Function f, double (*exact)(double), float low, float high) {
  std::vector<float> x;
  for (int i = 0; i <= 20000; ++i) x.push_back(low + (high - low) * static_cast<float>(i) / 20000);
  std::vector<float> y(x.size());
  f(x.data(), y.data(), static_cast<int64_t>(x.size()));
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = exact(x[i]);
    const double unit =
        std::max(std::abs(expected), double{std::numeric_limits<float>::min()}) * kUlp;
    worst = std::max(worst, std::abs(y[i] - expected) / unit);
  }
  return worst;
}

std::vector<float> Apply(Function f, std::vector<float> x) {
  f(x.data(), x.data(), static_cast<int64_t>(x.size()));  // in place
  return x;
}

TEST(FloatMathTest, StaysWithinFourUnitsInTheLastPlace) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LT(WorstUlps(ExpOf, std::exp, -87, 88), 4);
  EXPECT_LT(WorstUlps(ExpOf, std::exp, -1, 1), 4);
  EXPECT_LT(WorstUlps(SigmoidOf, sigmoid, -80, 80), 4);
  EXPECT_LT(WorstUlps(TanhOf, std::tanh, -10, 10), 4);
  EXPECT_LT(WorstUlps(TanhOf, std::tanh, -0.01F, 0.01F), 4);
  EXPECT_LT(WorstUlps(ErfOf, std::erf, -5, 5), 4);
  EXPECT_LT(WorstUlps(ErfOf, std::erf, -0.01F, 0.01F), 4);
}

TEST(FloatMathTest, TakesInfinitiesToTheirLimits) {
  EXPECT_EQ(Apply(ExpOf, {-kInf, 0, 200, kInf}), (std::vector<float>{0, 1, kInf, kInf}));
  EXPECT_EQ(Apply(SigmoidOf, {-kInf, kInf}), (std::vector<float>{0, 1}));
  EXPECT_EQ(Apply(TanhOf, {-kInf, kInf}), (std::vector<float>{-1, 1}));
  EXPECT_EQ(Apply(SqrtOf, {4, kInf}), (std::vector<float>{2, kInf}));
  EXPECT_EQ(Apply(RoundOf, {0.5F, 1.5F, -2.5F, 1e30F}), (std::vector<float>{0, 2, -2, 1e30F}));
  EXPECT_EQ(Apply(FloorOf, {-0.5F, 1e30F}), (std::vector<float>{-1, 1e30F}));
  EXPECT_EQ(Apply(CeilOf, {0.5F, -1e30F}), (std::vector<float>{1, -1e30F}));
}

TEST(FloatMathTest, NaNStaysNaNAtEveryLane) {
  for (Function f : {ExpOf, SigmoidOf, TanhOf, ErfOf, SqrtOf, FloorOf, CeilOf, RoundOf}) {
    for (float y : Apply(f, std::vector<float>(37, kNaN))) EXPECT_TRUE(std::isnan(y));
  }
}

}  // namespace
}  // namespace onnx_cudnn
