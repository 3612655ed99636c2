#include "runtime/exec/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/exec/seeded_numbers.h"
#include "runtime/graph/float16.h"

namespace onnx_cudnn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kInfinite = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");
constexpr double kRtol = 1e-3, kAtol = 2.5e-3;

// The result expected of Compare, computed number by number in double precision.
Difference OneByOne(const HostTensor& found, const HostTensor& expected) {
  const std::vector<double> x = *ElementsAsDoubles(found), y = *ElementsAsDoubles(expected);
  Difference difference;
  for (const double value : y) {
    if (std::isfinite(value)) {
      difference.largest_expected = std::max(difference.largest_expected, std::abs(value));
    }
  }
  const bool exact = !kFloatTypes.Has(found.dtype());
  for (size_t i = 0; i < x.size(); ++i) {
    const bool equal = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    double d = equal ? 0 : std::abs(x[i] - y[i]);
    if (std::isnan(d)) d = kInfinity;
    double allowed = kAtol * difference.largest_expected + kRtol * std::abs(y[i]);
    if (exact || !std::isfinite(y[i])) allowed = 0;
    difference.largest = std::max(difference.largest, d);
    if (d > allowed) ++difference.beyond;
  }
  return difference;
}

void ExpectAsOneByOne(const HostTensor& found, const HostTensor& expected) {
  const absl::StatusOr<Difference> together = Compare(found, expected, kRtol, kAtol);
  ASSERT_TRUE(together.ok()) << together.status();
  const Difference one_by_one = OneByOne(found, expected);
  EXPECT_EQ(together->largest, one_by_one.largest);
  EXPECT_EQ(together->largest_expected, one_by_one.largest_expected);
  EXPECT_EQ(together->beyond, one_by_one.beyond);
}

HostTensor Rounded(DType dtype, const std::vector<float>& values) {
  const Dims dims = {static_cast<int64_t>(values.size())};
  if (dtype == DType::kF32) return HostTensor::Of<float>(dtype, dims, values);
  HostTensor tensor = HostTensor::Allocate(dtype, dims);
  auto* bits = static_cast<uint16_t*>(tensor.mutable_raw());
  for (size_t i = 0; i < values.size(); ++i) {
    bits[i] = dtype == DType::kF16 ? ToFloat16(values[i]).bits : ToBFloat16(values[i]).bits;
  }
  return tensor;
}

// Several parts, the last one short: numbers near multiples of 1/128 in [-1, 1).
std::vector<float> Many() {
  const HostTensor numbers = SeededNumbers(DType::kF32, {200001}, 0, IndexValues::kZero);
  return {numbers.data<float>().begin(), numbers.data<float>().end()};
}

constexpr DType kShortFloats[] = {DType::kF32, DType::kF16, DType::kBF16};

TEST(CompareTest, ManyNumbersTogetherAreAsOneByOne) {
  const std::vector<float> expected = Many();
  for (const DType dtype : kShortFloats) {
    std::vector<float> found = expected;
    for (size_t i = 0; i < found.size(); i += 3) found[i] *= 1 + 0.001f * static_cast<float>(i % 7);
    ExpectAsOneByOne(Rounded(dtype, found), Rounded(dtype, expected));
    for (size_t i = 5; i < found.size(); i += 9973) found[i] += 0.25f;
    ExpectAsOneByOne(Rounded(dtype, found), Rounded(dtype, expected));
    EXPECT_FALSE(Compare(Rounded(dtype, found), Rounded(dtype, expected), kRtol, kAtol)->ok());
  }
}

TEST(CompareTest, FindsTheOneThatIsBeyond) {
  const std::vector<float> expected = Many();
  for (const DType dtype : kShortFloats) {
    for (const size_t at : {size_t{0}, size_t{65535}, size_t{65536}, size_t{200000}}) {
      for (const float wrong : {2.0f, kNan, kInfinite, -kInfinite}) {
        std::vector<float> found = expected;
        found[at] = wrong;
        const auto d = Compare(Rounded(dtype, found), Rounded(dtype, expected), kRtol, kAtol);
        EXPECT_EQ(d->beyond, 1) << at << " " << wrong;
        ExpectAsOneByOne(Rounded(dtype, found), Rounded(dtype, expected));
      }
    }
  }
}

TEST(CompareTest, EqualNumbersThatAreNotFiniteDoNotDiffer) {
  for (const DType dtype : kShortFloats) {
    std::vector<float> values = Many();
    values[7] = kNan;
    values[70000] = kInfinite;
    values[70001] = -kInfinite;
    const HostTensor expected = Rounded(dtype, values);
    ExpectAsOneByOne(expected, expected);
    EXPECT_TRUE(Compare(expected, expected, kRtol, kAtol)->ok());
    values[70001] = kInfinite;
    EXPECT_EQ(Compare(Rounded(dtype, values), expected, kRtol, kAtol)->beyond, 1);
    values[70001] = 0;
    EXPECT_EQ(Compare(Rounded(dtype, values), expected, kRtol, kAtol)->beyond, 1);
  }
}

TEST(CompareTest, NumbersNearTheBoundAreCountedExactly) {  // it lies between two floats
  std::vector<float> expected(3000, 1.0f), found = expected;
  const double bound = kRtol + kAtol;
  for (size_t i = 0; i < found.size(); ++i) {
    const float near = 1 + static_cast<float>(bound);
    found[i] = i % 3 == 0 ? near : std::nextafter(near, i % 3 == 1 ? 0.0f : 2.0f);
  }
  ExpectAsOneByOne(Rounded(DType::kF32, found), Rounded(DType::kF32, expected));
}

TEST(CompareTest, SubnormalNumbersAreComparedToo) {
  std::vector<float> expected(3000, 1e-40f), found = expected;
  found[2000] = 1.1e-40f;
  ExpectAsOneByOne(Rounded(DType::kF32, found), Rounded(DType::kF32, expected));
  EXPECT_EQ(
      Compare(Rounded(DType::kF32, found), Rounded(DType::kF32, expected), kRtol, kAtol)->beyond,
      1);
}

TEST(CompareTest, IntegersAreComparedExactly) {
  std::vector<int64_t> values(100000, 1000);
  const HostTensor expected = HostTensor::Ints(values);
  values[99999] = 1001;
  const HostTensor found = HostTensor::Ints(values);
  ExpectAsOneByOne(found, expected);
  EXPECT_EQ(Compare(found, expected, kRtol, kAtol)->beyond, 1);
}

TEST(CompareTest, EmptyTensorsDoNotDiffer) {
  const HostTensor empty = HostTensor::Allocate(DType::kF16, {0});
  const absl::StatusOr<Difference> difference = Compare(empty, empty, kRtol, kAtol);
  EXPECT_TRUE(difference->ok());
  EXPECT_EQ(difference->largest_expected, 0);
}

TEST(FiguresTest, RelativeDifferenceUlpsAndCosine) {
  const ErrorFigures same =
      *FiguresOf(Rounded(DType::kF32, {1, -2, 0}), Rounded(DType::kF32, {1, -2, 0}));
  EXPECT_EQ(same.relative, 0);
  EXPECT_EQ(same.ulps, 0);
  EXPECT_DOUBLE_EQ(same.cosine, 1);

  const float next = std::nextafter(1.0f, 2.0f), after = std::nextafter(next, 2.0f);
  const ErrorFigures two =
      *FiguresOf(Rounded(DType::kF32, {after, 4}), Rounded(DType::kF32, {1, 4}));
  EXPECT_EQ(two.ulps, 2);
  EXPECT_EQ(two.relative, 0x1p-22);

  const ErrorFigures right = *FiguresOf(Rounded(DType::kF32, {1, 0}), Rounded(DType::kF32, {0, 3}));
  EXPECT_EQ(right.cosine, 0);
  EXPECT_EQ(right.relative, 1);  // of the second; the first is expected to be 0
  EXPECT_EQ(FiguresOf(Rounded(DType::kF32, {0}), Rounded(DType::kF32, {0}))->cosine, 1);
  EXPECT_EQ(FiguresOf(Rounded(DType::kF32, {0}), Rounded(DType::kF32, {1}))->cosine, 0);
}

TEST(FiguresTest, UlpsAreThoseOfTheTypeAndPassZero) {
  const float above = ToFloat(Float16{0x3c01});  // the first number after 1
  EXPECT_EQ(FiguresOf(Rounded(DType::kF16, {above}), Rounded(DType::kF16, {1}))->ulps, 1);
  EXPECT_EQ(FiguresOf(Rounded(DType::kBF16, {2}), Rounded(DType::kBF16, {1}))->ulps, 128);
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(FiguresOf(Rounded(DType::kF32, {-least}), Rounded(DType::kF32, {least}))->ulps, 2);
  EXPECT_EQ(FiguresOf(HostTensor::Ints({7, -3}), HostTensor::Ints({7, 2}))->ulps, 5);
}

TEST(FiguresTest, WhatIsNotFiniteIsCounted) {
  const ErrorFigures figures = *FiguresOf(Rounded(DType::kF32, {kInfinite, kNan, 3, kNan}),
                                          Rounded(DType::kF32, {1, 2, 3, kNan}));
  EXPECT_EQ(figures.not_finite, 2);
  EXPECT_EQ(figures.relative, kInfinity);
  EXPECT_EQ(figures.ulps, kInfinity);
  EXPECT_EQ(figures.cosine, 1);  // of the third
  EXPECT_EQ(FiguresOf(Rounded(DType::kF32, {1}), Rounded(DType::kF32, {kInfinite}))->not_finite, 0);
}

}  // namespace
}  // namespace onnx_cudnn
