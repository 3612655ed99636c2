#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using I = std::vector<int64_t>;
using Doubles = std::vector<double>;

void ExpectNear(const Numbers& found, const Doubles& expected, double tolerance = 1e-5) {
  ASSERT_EQ(found.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found.values[i], expected[i], tolerance) << "at " << i;
}

TEST(BatchNormalizationTest, ScalesAndShiftsChannels) {
  const OpRun run = {"BatchNormalization",
                     {F32({1, 2, 1, 2}, {1, 2, 3, 4}), F32({2}, {1, 10}), F32({2}, {0, 5}),
                      F32({2}, {1, 3}), F32({2}, {4, 1})},
                     {{"epsilon", 0.0f}}};
  ExpectNear(RunForNumbers(run), {0, 0.5, 5, 15});
}

// Divided by sqrt(1 + 3), and by sqrt(3e-5 + 1e-5) with the default epsilon.
TEST(BatchNormalizationTest, AddsEpsilonToTheVariance) {
  const std::vector<HostTensor> inputs = {F32({1, 1, 2}, {5, 9}), F32({1}, {4}), F32({1}, {1}),
                                          F32({1}, {5}), F32({1}, {1})};
  ExpectNear(RunForNumbers({"BatchNormalization", inputs, {{"epsilon", 3.0f}}}), {1, 9});
  std::vector<HostTensor> narrow = inputs;
  narrow.back() = F32({1}, {3e-5});
  ExpectNear(RunForNumbers({"BatchNormalization", narrow, {}}), {1, 16 / std::sqrt(4e-5) + 1},
             1e-2);
}

// Normalizes values by their own mean and variance.
Doubles Normal(const Doubles& x, double scale, double bias) {
  double mean = 0, variance = 0;
  for (double v : x) mean += v / x.size();
  for (double v : x) variance += (v - mean) * (v - mean) / x.size();
  Doubles y;
  for (double v : x) y.push_back((v - mean) / std::sqrt(variance + 1e-5) * scale + bias);
  return y;
}

Doubles Join(std::vector<Doubles> parts) {
  Doubles all;
  for (const Doubles& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Two images of two channels: a channel's moments are taken over both images.
TEST(BatchNormalizationTest, TrainsByTheMomentsOfTheBatch) {
  const Doubles a = Pattern(12, 1), b = Pattern(12, 2);
  const auto of_image = [](const Doubles& x, int image) {
    return Doubles(x.begin() + 6 * image, x.begin() + 6 * (image + 1));
  };
  const auto interleave = [&](const Doubles& c0, const Doubles& c1) {
    return Join({of_image(c0, 0), of_image(c1, 0), of_image(c0, 1), of_image(c1, 1)});
  };
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    const auto row = [&](Doubles values) { return TensorOf(dtype, {2}, values); };
    const auto results = RunOp({"BatchNormalization",
                                {TensorOf(dtype, {2, 2, 2, 3}, interleave(a, b)), row({2, 3}),
                                 row({0, 1}), row({1, 10}), row({2, 4})},
                                {{"training_mode", int64_t{1}}, {"momentum", 0.75f}},
                                3});
    ASSERT_TRUE(results.ok()) << results.status();
    const double tolerance = dtype == DType::kF16 ? 4e-3 : 1e-5;
    ExpectNear(NumbersOf((*results)[0]), interleave(Normal(a, 2, 0), Normal(b, 3, 1)), tolerance);
    Doubles mean, variance;
    for (const Doubles& x : {a, b}) {
      double sum = 0, squares = 0;
      for (double v : x) sum += v, squares += v * v;
      mean.push_back(sum / 12);
      variance.push_back(squares / 12 - mean.back() * mean.back());  // of the population
    }
    ExpectNear(NumbersOf((*results)[1]), {0.75 * 1 + 0.25 * mean[0], 0.75 * 10 + 0.25 * mean[1]},
               tolerance);
    ExpectNear(NumbersOf((*results)[2]),
               {0.75 * 2 + 0.25 * variance[0], 0.75 * 4 + 0.25 * variance[1]}, tolerance);
  }
}

TEST(BatchNormalizationTest, TakesAVectorAsOneChannel) {
  const HostTensor one = F32({1}, {1});
  const Numbers y = RunForNumbers({"BatchNormalization",
                                   {F32({2}, {1, 3}), one, F32({1}, {0}), one, one},
                                   {{"training_mode", int64_t{1}}, {"epsilon", 0.0f}},
                                   3});
  ExpectNear(y, {-1, 1});
}

TEST(InstanceNormalizationTest, NormalizesEveryPlane) {
  const Doubles a = Pattern(30, 1), b = Pattern(30, 2);
  const Numbers y =
      RunForNumbers({"InstanceNormalization",
                     {F32({1, 2, 5, 6}, Join({a, b})), F32({2}, {2, 3}), F32({2}, {0, 1})}});
  ExpectNear(y, Join({Normal(a, 2, 0), Normal(b, 3, 1)}));
}

TEST(GroupNormalizationTest, SharesStatisticsWithinGroups) {
  const Doubles a = Pattern(8, 1), b = Pattern(8, 2);  // two groups of two channels
  const Numbers y =
      RunForNumbers({"GroupNormalization",
                     {F32({1, 4, 4}, Join({a, b})), F32({4}, {1, 1, 2, 2}), F32({4}, {0, 0, 1, 1})},
                     {{"num_groups", int64_t{2}}}});
  ExpectNear(y, Join({Normal(a, 1, 0), Normal(b, 2, 1)}));
  EXPECT_FALSE(
      RunOp({"GroupNormalization",
             {F32({1, 4, 4}, Pattern(16, 1)), F32({4}, {1, 1, 1, 1}), F32({4}, {0, 0, 0, 0})},
             {{"num_groups", int64_t{3}}}})
          .ok());
}

TEST(LayerNormalizationTest, NormalizesRowsAndSaysTheirMoments) {
  const Doubles a = Pattern(21, 1), b = Pattern(21, 2);
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    const auto results =
        RunOp({"LayerNormalization",
               {TensorOf(dtype, {2, 3, 7}, Join({a, b})), TensorOf(dtype, {3, 7}, Doubles(21, 2)),
                TensorOf(dtype, {1}, {1})},
               {{"axis", int64_t{1}}},
               3});
    ASSERT_TRUE(results.ok()) << results.status();
    ExpectNear(NumbersOf((*results)[0]), Join({Normal(a, 2, 1), Normal(b, 2, 1)}),
               dtype == DType::kF16 ? 2e-3 : 1e-5);
    double mean = 0;
    for (double v : a) mean += v / 21;
    EXPECT_NEAR(NumbersOf((*results)[1]).values[0], mean, 1e-6);
  }
}

TEST(LayerNormalizationTest, BroadcastsItsFactors) {
  const HostTensor x = F32({2, 2, 2}, {1, 3, 1, 3, 2, 6, 2, 6});  // -1 1 -1 1 of each image
  const Attrs attrs = {{"epsilon", 0.0f}, {"axis", int64_t{1}}};
  const HostTensor by_image = F32({2, 1, 1}, {1, 2}), by_row = F32({2, 1}, {1, 2});
  const HostTensor by_column = F32({2, 1, 2}, {10, 20, 30, 40});
  ExpectNear(RunForNumbers({"LayerNormalization", {x, by_row}, attrs}),
             {-1, 1, -2, 2, -1, 1, -2, 2});
  ExpectNear(RunForNumbers({"LayerNormalization", {x, F32({2}, {1, 2}), by_row}, attrs}),
             {0, 3, 1, 4, 0, 3, 1, 4});
  ExpectNear(RunForNumbers({"LayerNormalization", {x, by_image, by_column}, attrs}),
             {9, 21, 9, 21, 28, 42, 28, 42});
}

TEST(LayerNormalizationTest, RefusesFactorsThatDoNotBroadcast) {
  const auto result = RunOp({"LayerNormalization",
                             {F32({2, 3, 7}, Pattern(42, 1)), F32({2, 1}, {1, 2})},
                             {{"axis", int64_t{1}}}});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(result.status().message().find("scale is [2,1], which does not broadcast to [2,3,7]"),
            std::string::npos)
      << result.status();
}

TEST(RMSNormalizationTest, DividesByTheRootMeanSquare) {
  ExpectNear(
      RunForNumbers(
          {"RMSNormalization", {F32({2, 2}, {3, 4, 6, 8}), F32({2}, {1, 2})}, {{"epsilon", 0.0f}}}),
      {3 / std::sqrt(12.5), 8 / std::sqrt(12.5), 6 / std::sqrt(50.0), 16 / std::sqrt(50.0)});
}

TEST(RMSNormalizationTest, BroadcastsItsScale) {
  ExpectNear(RunForNumbers({"RMSNormalization",
                            {F32({2, 2, 2}, {3, 3, 3, 3, 2, 2, 2, 2}), F32({2, 1}, {1, 2})},
                            {{"epsilon", 0.0f}, {"axis", int64_t{1}}}}),
             {1, 1, 2, 2, 1, 1, 2, 2});
}

TEST(MeanVarianceNormalizationTest, NormalizesOverAxes) {
  const Numbers y =
      RunForNumbers({"MeanVarianceNormalization", {F32({2, 2}, {1, 10, 3, 20})}, {{"axes", I{0}}}});
  ExpectNear(y, {-1, -1, 1, 1});
}

TEST(LpNormalizationTest, DividesByTheNorm) {
  const HostTensor x = F32({2, 2}, {3, 0, -4, 0});
  ExpectNear(RunForNumbers({"LpNormalization", {x}, {{"axis", int64_t{0}}}}), {0.6, 0, -0.8, 0});
  ExpectNear(RunForNumbers({"LpNormalization", {x}, {{"axis", int64_t{0}}, {"p", int64_t{1}}}}),
             {3 / 7.0, 0, -4 / 7.0, 0});
}

TEST(LRNTest, DividesBySquaresOfNeighbours) {
  const Doubles x = {1, 2, 3, 4, 5};
  for (const auto& [size, beta] : {std::pair{3, 0.75}, {4, 0.5}, {9, 1.0}}) {
    const Numbers y = RunForNumbers(
        {"LRN",
         {F32({1, 5, 1, 1}, x)},
         {{"size", int64_t{size}}, {"alpha", 0.5f}, {"beta", float(beta)}, {"bias", 2.0f}}});
    for (int c = 0; c < 5; ++c) {
      double squares = 0;
      for (int i = std::max(0, c - (size - 1) / 2); i <= std::min(4, c + size / 2); ++i)
        squares += x[i] * x[i];
      EXPECT_NEAR(y.values[c], x[c] / std::pow(2 + 0.5 / size * squares, beta), 1e-5);
    }
  }
}

TEST(SoftmaxTest, SumsToOneAlongAnyAxis) {
  const Doubles x = Pattern(4 * 6 * 130, 1);
  for (int64_t axis : {-1, 0, 1}) {
    for (const char* op : {"Softmax", "LogSoftmax"}) {
      const Numbers y = RunForNumbers({op, {F32({4, 6, 130}, x)}, {{"axis", axis}}});
      const int64_t extent = axis == -1  ? 130
                             : axis == 0 ? 4
                                         : 6,
                    inner = axis == -1  ? 1
                            : axis == 0 ? 6 * 130
                                        : 130;
      for (size_t i = 0; i < x.size(); ++i) {
        const int64_t base = i / (extent * inner) * extent * inner + i % inner;
        double sum = 0;
        for (int64_t j = 0; j < extent; ++j) sum += std::exp(x[base + j * inner] - x[i]);
        ASSERT_NEAR(y.values[i], std::string(op) == "Softmax" ? 1 / sum : -std::log(sum), 1e-5);
      }
    }
  }
}

TEST(SoftmaxTest, HandlesLargeValues) {
  ExpectNear(RunForNumbers({"Softmax", {F32({3}, {1e30, 1e30, -1e30})}}), {0.5, 0.5, 0});
}

TEST(HardmaxTest, MarksTheFirstLargest) {
  ExpectNear(RunForNumbers({"Hardmax", {F32({2, 3}, {1, 3, 3, 2, 1, 0})}}), {0, 1, 0, 1, 0, 0});
}

}  // namespace
}  // namespace onnx_cudnn
