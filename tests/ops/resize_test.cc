#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using I = std::vector<int64_t>;
using Doubles = std::vector<double>;

HostTensor Scales(const Doubles& scales) {
  return F32({static_cast<int64_t>(scales.size())}, scales);
}

Numbers ToScales(const HostTensor& x, const Doubles& scales, const Attrs& attrs) {
  return RunForNumbers({"Resize", {x, {}, Scales(scales)}, attrs});
}
Numbers ToSizes(const HostTensor& x, const I& sizes, const Attrs& attrs) {
  return RunForNumbers({"Resize", {x, {}, {}, HostTensor::Ints(sizes)}, attrs});
}

void ExpectNear(const Numbers& found, const Doubles& expected) {
  ASSERT_EQ(found.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found.values[i], expected[i], 1e-4) << "at " << i;
}

const HostTensor& Sixteen() {
  static const auto& x =
      *new HostTensor(F32({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  return x;
}

TEST(ResizeTest, RoundsToTheNearestByMode) {
  const HostTensor x = F32({4}, {0, 1, 2, 3});
  const auto run = [&](const char* nearest, const char* coordinates) {
    return ToSizes(x, {8},
                   {{"nearest_mode", nearest}, {"coordinate_transformation_mode", coordinates}})
        .values;
  };
  EXPECT_EQ(run("floor", "asymmetric"), (Doubles{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(run("ceil", "asymmetric"), (Doubles{0, 1, 1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(run("round_prefer_floor", "asymmetric"), (Doubles{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(run("round_prefer_ceil", "asymmetric"), (Doubles{0, 1, 1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(run("round_prefer_floor", "half_pixel"), (Doubles{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(run("round_prefer_floor", "align_corners"), (Doubles{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(ResizeTest, RoundsTheHalfPixelOfSymmetricLikeItsFormula) {
  const auto run = [](const char* nearest) {
    return ToScales(F32({5}, {0, 1, 2, 3, 4}), {0.5},
                    {{"nearest_mode", nearest},
                     {"coordinate_transformation_mode", "half_pixel_symmetric"}})
        .values;
  };
  EXPECT_EQ(run("floor"), (Doubles{1, 3}));
  EXPECT_EQ(run("ceil"), (Doubles{1, 3}));
}

TEST(ResizeTest, TakesSizesAsTheyAre) {  // 15 / 11 * 11 is more than 15, 9 / 7 * 7 more than 9
  const auto run = [&](int64_t in, int64_t out, const char* coordinates) {
    Doubles x;
    for (int64_t i = 0; i < in; ++i) x.push_back(static_cast<double>(i));
    return ToSizes(F32({in}, x), {out},
                   {{"nearest_mode", "floor"}, {"coordinate_transformation_mode", coordinates}})
        .values;
  };
  EXPECT_EQ(run(11, 15, "align_corners").back(), 10);
  EXPECT_EQ(run(7, 9, "half_pixel_symmetric")[4], 3);
}

TEST(ResizeTest, PutsHalfPixelForNearestWithoutItsShiftBack) {
  EXPECT_EQ(ToScales(F32({4}, {0, 1, 2, 3}), {0.5},
                     {{"nearest_mode", "floor"},
                      {"coordinate_transformation_mode", "tf_half_pixel_for_nn"}})
                .values,
            (Doubles{1, 3}));
}

TEST(ResizeTest, LeavesAnAxisThatKeepsItsLengthAlone) {
  EXPECT_EQ(
      ToScales(F32({2, 2}, {0, 1, 2, 3}), {1, 2},
               {{"mode", "linear"}, {"coordinate_transformation_mode", "tf_half_pixel_for_nn"}})
          .values,
      (Doubles{0.25, 0.75, 1, 1, 2.25, 2.75, 3, 3}));
}

TEST(ResizeTest, ShowsTheFirstElementForPytorchHalfPixelOfOne) {
  EXPECT_EQ(ToScales(F32({3}, {1, 2, 3}), {0.6},
                     {{"mode", "linear"}, {"coordinate_transformation_mode", "pytorch_half_pixel"}})
                .values,
            (Doubles{1}));
}

TEST(ResizeTest, CopiesAnyNumberForNearest) {
  for (DType dtype : {DType::kI64, DType::kU8, DType::kF16, DType::kF64, DType::kBool}) {
    EXPECT_EQ(ToSizes(TensorOf(dtype, {2, 1}, {1, 0}), {3, 2}, {}).values,
              (Doubles{1, 1, 1, 1, 0, 0}));
  }
}

// Values of ONNX's backend tests.
TEST(ResizeTest, InterpolatesLinearly) {
  const HostTensor x = F32({1, 1, 2, 2}, {1, 2, 3, 4});
  const Attrs linear = {{"mode", "linear"}};
  ExpectNear(ToScales(x, {1, 1, 2, 2}, linear),
             {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  ExpectNear(ToScales(x, {1, 1, 2, 2},
                      {{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}}),
             {1, 1.33333333, 1.66666667, 2, 1.66666667, 2, 2.33333333, 2.66666667, 2.33333333,
              2.66666667, 3, 3.33333333, 3, 3.33333333, 3.66666667, 4});
  const HostTensor eight = F32({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  ExpectNear(ToScales(eight, {1, 1, 0.6, 0.6}, linear), {2.6666665, 4.3333331});
  ExpectNear(ToScales(eight, {1, 1, 0.6, 0.6},
                      {{"mode", "linear"}, {"coordinate_transformation_mode", "align_corners"}}),
             {1, 3.142857});
  ExpectNear(
      ToSizes(Sixteen(), {1, 1, 3, 1},
              {{"mode", "linear"}, {"coordinate_transformation_mode", "pytorch_half_pixel"}}),
      {1.6666666, 7, 12.333333});
}

TEST(ResizeTest, KeepsTheCentreForHalfPixelSymmetric) {
  const Attrs attrs = {{"mode", "linear"},
                       {"coordinate_transformation_mode", "half_pixel_symmetric"}};
  ExpectNear(ToScales(F32({1, 1, 1, 4}, {1, 2, 3, 4}), {1, 1, 1, 0.6}, attrs),
             {1.6666667, 3.3333333});
}

TEST(ResizeTest, InterpolatesByCubics) {
  ExpectNear(ToScales(Sixteen(), {1, 1, 0.8, 0.8}, {{"mode", "cubic"}}),
             {1.47119141, 2.78125, 4.08251953, 6.71142578, 8.02148438, 9.32275391, 11.91650391,
              13.2265625, 14.52783203});
  ExpectNear(ToScales(Sixteen(), {1, 1, 0.8, 0.8},
                      {{"mode", "cubic"}, {"coordinate_transformation_mode", "align_corners"}}),
             {1, 2.39519159, 3.79038317, 6.58076634, 7.97595793, 9.37114951, 12.16153268,
              13.55672427, 14.95191585});
  ExpectNear(
      ToScales(Sixteen(), {1, 1, 0.8, 0.8},
               {{"mode", "cubic"}, {"cubic_coeff_a", -0.5f}, {"exclude_outside", int64_t{1}}}),
      {1.36812675, 2.6695014, 4.0133367, 6.57362535, 7.875, 9.2188353, 11.94896657, 13.25034122,
       14.59417652});
}

TEST(ResizeTest, SmoothsWhatItShrinksForAntialias) {
  ExpectNear(ToScales(Sixteen(), {1, 1, 0.6, 0.6}, {{"mode", "linear"}, {"antialias", int64_t{1}}}),
             {2.875, 4.5, 9.375, 11});
  ExpectNear(ToScales(Sixteen(), {1, 1, 0.6, 0.6}, {{"mode", "cubic"}, {"antialias", int64_t{1}}}),
             {2.5180721, 4.2858863, 9.589329, 11.357142});
}

TEST(ResizeTest, CropsARegion) {
  const HostTensor roi = F32({8}, {0, 0, 0.4, 0.6, 1, 1, 0.6, 0.8});
  const Numbers y = RunForNumbers(
      {"Resize",
       {Sixteen(), roi, {}, HostTensor::Ints({1, 1, 3, 3})},
       {{"mode", "linear"}, {"coordinate_transformation_mode", "tf_crop_and_resize"}}});
  ExpectNear(y, {7.6, 7.9, 8.2, 8.8, 9.1, 9.4, 10, 10.3, 10.6});
  const HostTensor outside = F32({8}, {0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7});
  const Numbers filled = RunForNumbers({"Resize",
                                        {Sixteen(), outside, {}, HostTensor::Ints({1, 1, 3, 3})},
                                        {{"mode", "linear"},
                                         {"coordinate_transformation_mode", "tf_crop_and_resize"},
                                         {"extrapolation_value", 10.0f}}});
  ExpectNear(filled, {7.6, 10, 10, 12.4, 10, 10, 10, 10, 10});
}

TEST(ResizeTest, CropsToTheLastElement) {
  const HostTensor roi = F32({2}, {0, 1});
  const auto last = [&](const OpRun& run) { return RunForNumbers(run).values.back(); };
  const HostTensor x = F32({11}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const Attrs attrs = {{"mode", mode},
                         {"coordinate_transformation_mode", "tf_crop_and_resize"},
                         {"extrapolation_value", -1.0f}};
    EXPECT_EQ(last({"Resize", {x, roi, {}, HostTensor::Ints({15})}, attrs}), 10) << mode;
    EXPECT_EQ(last({"Resize", {x, roi, Scales({1.4}), {}}, attrs}), 10) << mode;
    EXPECT_EQ(last({"Resize", {x, F32({2}, {-0.2, 1}), Scales({2.5}), {}}, attrs}), 10) << mode;
  }
}

TEST(ResizeTest, RoundsIntegersHalfToEvenAndSaturates) {
  const auto run = [](DType dtype, const Doubles& x, const char* mode) {
    const int64_t n = static_cast<int64_t>(x.size());
    return ToScales(TensorOf(dtype, {n}, x), {2}, {{"mode", mode}}).values;
  };
  EXPECT_EQ(run(DType::kU8, {0, 2, 255}, "linear"), (Doubles{0, 0, 2, 65, 192, 255}));
  EXPECT_EQ(run(DType::kI8, {-7, 9}, "linear"), (Doubles{-7, -3, 5, 9}));
  EXPECT_EQ(run(DType::kU8, {0, 255, 255, 0}, "cubic"),
            (Doubles{0, 58, 197, 255, 255, 197, 58, 0}));
  EXPECT_EQ(run(DType::kI64, {-40000000000, 40000000000}, "linear"),
            (Doubles{-40000000000, -20000000000, 20000000000, 40000000000}));
}

TEST(ResizeTest, FillsIntegersOutsideACrop) {
  EXPECT_EQ(RunForNumbers(
                {"Resize",
                 {TensorOf(DType::kU8, {2}, {1, 2}), F32({2}, {0, 2}), {}, HostTensor::Ints({3})},
                 {{"coordinate_transformation_mode", "tf_crop_and_resize"},
                  {"extrapolation_value", 300.0f}}})
                .values,
            (Doubles{1, 2, 255}));
}

TEST(ResizeTest, KeepsTheDigitsOfF64) {
  const Numbers y = ToSizes(TensorOf(DType::kF64, {2}, {0, 1}), {6}, {{"mode", "linear"}});
  EXPECT_NEAR(y.values[2], 1.0 / 3, 1e-15);
}

TEST(ResizeTest, TakesAxesAndAspectPolicies) {
  const HostTensor x = F32({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto dims = [&](const char* policy) {
    return ToSizes(x, {7, 8}, {{"axes", I{2, 3}}, {"keep_aspect_ratio_policy", policy}}).dims;
  };
  EXPECT_EQ(dims("stretch"), (Dims{1, 1, 7, 8}));
  EXPECT_EQ(dims("not_larger"), (Dims{1, 1, 4, 8}));
  EXPECT_EQ(dims("not_smaller"), (Dims{1, 1, 7, 14}));
  EXPECT_EQ(ToScales(F32({2, 2}, {1, 2, 3, 4}), {2}, {{"axes", I{0}}}).values,
            (Doubles{1, 2, 1, 2, 3, 4, 3, 4}));
}

TEST(ResizeTest, TakesEmptyTensors) {
  EXPECT_EQ(ToSizes(F32({0, 2}, {}), {0, 4}, {{"mode", "linear"}}).dims, (Dims{0, 4}));
  EXPECT_EQ(ToSizes(F32({2, 3}, {1, 2, 3, 4, 5, 6}), {0, 3}, {}).dims, (Dims{0, 3}));
  EXPECT_EQ(
      ToSizes(F32({1, 3}, {1, 2, 3}), {1, 1}, {{"keep_aspect_ratio_policy", "not_larger"}}).dims,
      (Dims{0, 1}));
  EXPECT_EQ(ToScales(F32({0, 2}, {}), {2, 2}, {{"mode", "linear"}}).dims, (Dims{0, 4}));
}

TEST(ResizeTest, RefusesWhatItDoesNotDo) {
  const HostTensor scales = Scales({2});
  const auto runs = [&](const HostTensor& x, const Attrs& attrs) {
    return RunOp({"Resize", {x, {}, scales}, attrs}).ok();
  };
  EXPECT_FALSE(runs(F32({2}, {1, 2}), {{"mode", "area"}}));
  EXPECT_FALSE(runs(F32({2}, {1, 2}), {{"coordinate_transformation_mode", "other"}}));
  EXPECT_FALSE(runs(F32({2}, {1, 2}), {{"axes", I{1}}}));
  EXPECT_FALSE(runs(TensorOf(DType::kBool, {2}, {1, 0}), {{"mode", "linear"}}));
}

}  // namespace
}  // namespace onnx_cudnn
