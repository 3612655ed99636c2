#include "tools/common/elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace onnx_cudnn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const float kNan = std::nanf("");

HostTensor Floats(const std::vector<float>& values) {
  return HostTensor::Of<float>(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

Difference Compared(const HostTensor& found, const HostTensor& expected) {
  return *Compare(found, expected, /*rtol=*/0.1, /*atol=*/0.01);
}

TEST(ElementsTest, SummaryLeavesOutWhatIsNotFinite) {
  const Summary summary = Summarize({1, 3, std::nan(""), kInfinity, -1});
  EXPECT_EQ(summary.elements, 5);
  EXPECT_EQ(summary.not_finite, 2);
  EXPECT_EQ(summary.min, -1);
  EXPECT_EQ(summary.max, 3);
  EXPECT_EQ(summary.mean, 1);
}

TEST(ElementsTest, TopScoresPerRowLargestFirst) {
  const auto rows = TopScores({1, 3, 3, 9, std::nan(""), 0}, {2, 3}, 2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][0].index, 1);
  EXPECT_EQ(rows[0][1].index, 2);
  EXPECT_EQ(rows[1][0].value, 9);
  EXPECT_EQ(rows[1][1].value, 0);
}

TEST(ElementsTest, DifferenceWithinTolerancesIsOk) {
  const Difference d = Compared(Floats({10.9f, 0.09f}), Floats({10, 0}));  // 0.1 × 10 + 0.01 × 10
  EXPECT_TRUE(d.ok());
  EXPECT_NEAR(d.largest, 0.9, 1e-6);
  EXPECT_EQ(d.largest_expected, 10);
}

TEST(ElementsTest, DifferenceBeyondTolerancesIsCounted) {
  const Difference d = Compared(Floats({11.2f, 0.2f, 1}), Floats({10, 0, 1}));
  EXPECT_FALSE(d.ok());
  EXPECT_EQ(d.beyond, 2);
}

TEST(ElementsTest, NanAndInfinityAgreeWithThemselvesAlone) {
  const float inf = static_cast<float>(kInfinity);
  EXPECT_TRUE(Compared(Floats({kNan, inf}), Floats({kNan, inf})).ok());
  EXPECT_FALSE(Compared(Floats({kNan}), Floats({1})).ok());
  EXPECT_FALSE(Compared(Floats({1}), Floats({kNan})).ok());
  EXPECT_FALSE(Compared(Floats({1}), Floats({inf})).ok());
}

TEST(ElementsTest, IntegersAreComparedExactly) {
  EXPECT_FALSE(Compared(HostTensor::Ints({100}), HostTensor::Ints({101})).ok());
  EXPECT_TRUE(Compared(HostTensor::Ints({100}), HostTensor::Ints({100})).ok());
}

TEST(ElementsTest, AnotherTypeIsADifference) {
  EXPECT_EQ(Compared(Floats({1}), Floats({1, 2})).type, "expected f32[2], found f32[1]");
}

TEST(ElementsTest, PercentilesAreNearestRank) {
  std::vector<double> ms;
  for (int i = 100; i >= 1; --i) ms.push_back(i);
  const Timing t = SummarizeTimes(ms);
  EXPECT_EQ(std::tie(t.min, t.median, t.mean, t.p90, t.p95, t.p99),
            std::make_tuple(1.0, 50.0, 50.5, 90.0, 95.0, 99.0));
  EXPECT_EQ(SummarizeTimes({4}).p99, 4);
}

}  // namespace
}  // namespace onnx_cudnn
