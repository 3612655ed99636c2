#include "runtime/plan/format.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"

namespace onnx_cudnn {
namespace {

std::vector<float> Counting(int64_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

std::vector<float> Packed(const Dims& dims, const Format& format, float fill = -1) {
  const std::vector<float> from = Counting(ElementsOf(dims));
  std::vector<float> to(format.lanes(), fill);
  Pack(DType::kF32, dims, from.data(), format, to.data());
  return to;
}

// Every index is stored at its Offset, and survives a round trip.
void ExpectRoundTrip(const Dims& dims, const Format& format) {
  const std::vector<float> lanes = Packed(dims, format);
  std::vector<float> back(ElementsOf(dims), -2);
  Unpack(DType::kF32, dims, lanes.data(), format, back.data());
  EXPECT_EQ(back, Counting(ElementsOf(dims))) << format.ToString();
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < ElementsOf(dims); ++i) {
    EXPECT_EQ(lanes[format.Offset(index)], static_cast<float>(i + 1)) << format.ToString();
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

TEST(FormatTest, DropsAxesOfExtentOne) {
  EXPECT_EQ(Format::RowMajor({1, 5, 1, 1}).ToString(), "1:5");
  EXPECT_EQ(Format::RowMajor({1, 5, 1, 1}), Format::ChannelsLast({1, 5, 1, 1}));
  EXPECT_EQ(Format::RowMajor({1, 1}), Format());
}

TEST(FormatTest, KeepsAnAxisOfExtentOneThatMovesOthers) {  // lane 0 of 4, as of a slice
  const Format slice = Format::Of({{0, 1, 3, 3}, {1, 1, 1, 4}});
  EXPECT_EQ(slice.Offset({2, 0}), 8);
  EXPECT_EQ(slice.lanes(), 9);
  EXPECT_TRUE(slice.has_foreign_lanes());
}

TEST(FormatTest, DroppedAxisHandsItsPitchOn) {
  const Format format = Format::Of({{0, 1, 2, 2}, {1, 1, 1, 3}, {2, 1, 5, 5}});
  EXPECT_EQ(format.ToString(), "0:2 2:5^15");
  EXPECT_EQ(format.Offset({1, 0, 2}), 17);
}

TEST(FormatTest, CountsItsOwnLanes) {
  const Format part = Format::Of({{2, 1, 2, 2}, {3, 1, 2, 2}, {1, 1, 3, 4}});
  EXPECT_EQ(part.lanes(), 15);
  EXPECT_EQ(part.own_lanes(), 12);
  EXPECT_EQ(part.own_bytes(DType::kF16), 24);
  EXPECT_EQ(part.WithoutForeignLanes(), Format::ChannelsLast({1, 3, 2, 2}));
  EXPECT_EQ(Format::ChannelsLast({1, 3, 2, 2}, 4).own_lanes(), 16);
}

TEST(FormatTest, OutermostPitchMeansNothing) {
  EXPECT_EQ(Format::Of({{0, 1, 2, 9}, {1, 1, 3, 3}}), Format::RowMajor({2, 3}));
}

TEST(FormatTest, JoinsBlocksThatCountOn) {
  EXPECT_EQ(Format::Of({{0, 4, 2, 2}, {0, 1, 4, 4}}), Format::RowMajor({8}));
}

TEST(FormatTest, ChannelsLastPutsChannelsInnermost) {
  const Format format = Format::ChannelsLast({2, 3, 4, 5});
  EXPECT_EQ(format.ToString(), "0:2 2:4 3:5 1:3");
  EXPECT_EQ(format.Offset({1, 2, 3, 4}), 1 * 60 + 3 * 15 + 4 * 3 + 2);
}

TEST(FormatTest, ChannelsLastBelowRankThreeIsRowMajor) {
  EXPECT_EQ(Format::ChannelsLast({2, 3}, 4), Format::RowMajor({2, 3}));
}

TEST(FormatTest, ReportsWhetherThereIsPadding) {
  EXPECT_TRUE(Format::ChannelsLast({1, 3, 2, 2}, 4).has_padding({1, 3, 2, 2}));
  EXPECT_FALSE(Format::ChannelsLast({1, 4, 2, 2}, 4).has_padding({1, 4, 2, 2}));
}

TEST(FormatTest, EmptyTensorHasNoLanes) {
  EXPECT_EQ(Format::RowMajor({2, 0, 3}).lanes(), 0);
  EXPECT_EQ(Format::ChannelsLast({2, 0, 3}, 4).lanes(), 0);
}

TEST(FormatTest, CountsBytesOfSmallTypes) {
  EXPECT_EQ(Format::RowMajor({3, 3}).bytes(DType::kU4), 5);
  EXPECT_EQ(Format::ChannelsLast({1, 3, 2, 2}, 4).bytes(DType::kF16), 32);
}

TEST(PackTest, RoundTripsEveryLayout) {
  const Dims dims = {2, 5, 3, 4};
  ExpectRoundTrip(dims, Format::RowMajor(dims));
  ExpectRoundTrip(dims, Format::Permuted(dims, {3, 1, 0, 2}));
  ExpectRoundTrip(dims, Format::ChannelsLast(dims));
  ExpectRoundTrip(dims, Format::ChannelsLast(dims, 8));
  const Format blocked =
      Format::Of({{0, 1, 2, 2}, {1, 4, 2, 2}, {2, 1, 3, 3}, {3, 1, 4, 4}, {1, 1, 4, 4}});
  ExpectRoundTrip(dims, blocked);
  ExpectRoundTrip(
      dims, Format::Of({{2, 2, 2, 2}, {0, 1, 2, 2}, {2, 1, 2, 2}, {1, 1, 5, 6}, {3, 1, 4, 7}}));
}

TEST(PackTest, RoundTripsWhatManyThreadsShare) {  // neither rows nor columns fill their tiles
  const Dims dims = {3, 70, 9, 37};
  ExpectRoundTrip(dims, Format::ChannelsLast(dims));
  ExpectRoundTrip(dims, Format::ChannelsLast(dims, 8));
  ExpectRoundTrip(dims, Format::Permuted(dims, {0, 1, 3, 2}));
  ExpectRoundTrip(dims, Format::Permuted(dims, {3, 2, 1, 0}));
  ExpectRoundTrip(dims, Format::Of({{0, 1, 3, 3}, {2, 1, 9, 10}, {3, 1, 37, 37}, {1, 1, 70, 81}}));
  ExpectRoundTrip(
      dims,
      Format::Of({{0, 1, 3, 3}, {1, 32, 3, 3}, {2, 1, 9, 9}, {3, 1, 37, 37}, {1, 1, 32, 32}}));
  ExpectRoundTrip({300, 1000}, Format::Permuted({300, 1000}, {1, 0}));
}

TEST(PackTest, FillsPaddingOfLargeTensorsAndLeavesForeignLanes) {
  const Dims dims = {2, 43, 100, 33};
  const Format slice = Format::Of(
      {{0, 1, 2, 2}, {2, 1, 100, 100}, {3, 1, 33, 33}, {1, 1, 48, 50}});  // 5 and 2 lanes beyond
  const std::vector<float> lanes = Packed(dims, slice, -7);
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    if (lane % 50 < 43) {
      ASSERT_GT(lanes[lane], 0) << lane;
    } else {
      ASSERT_EQ(lanes[lane], lane % 50 < 48 ? 0 : -7) << lane;
    }
  }
}

TEST(PackTest, FillsOuterPaddingWithZero) {  // 3 of 4 blocks of 1000 rows
  const Format padded = Format::Of({{0, 1, 4, 4}, {2, 1, 1000, 1000}, {1, 1, 40, 40}});
  const std::vector<float> lanes = Packed({3, 40, 1000}, padded);
  EXPECT_TRUE(std::all_of(lanes.begin(), lanes.begin() + 120000, [](float x) { return x > 0; }));
  EXPECT_TRUE(std::all_of(lanes.begin() + 120000, lanes.end(), [](float x) { return x == 0; }));
}

TEST(PackTest, FillsPaddingWithZero) {
  EXPECT_EQ(Packed({1, 2, 1, 2}, Format::ChannelsLast({1, 2, 1, 2}, 4)),
            (std::vector<float>{1, 3, 0, 0, 2, 4, 0, 0}));
}

TEST(PackTest, LeavesForeignLanes) {
  const Format slice = Format::Of({{0, 1, 2, 2}, {1, 1, 2, 3}});
  EXPECT_EQ(Packed({2, 2}, slice, -7), (std::vector<float>{1, 2, -7, 3, 4}));
}

TEST(PackTest, PadsOuterBlocksOfAHalfFullDim) {  // 3 of 2 x 2 indices
  const Format blocked = Format::Of({{0, 2, 2, 2}, {1, 1, 2, 2}, {0, 1, 2, 2}});
  EXPECT_EQ(Packed({3, 2}, blocked), (std::vector<float>{1, 3, 2, 4, 5, 0, 6, 0}));
}

TEST(PackTest, TakesEveryElementSize) {
  const Dims dims = {1, 2, 1, 3};
  const Format format = Format::ChannelsLast(dims);
  for (DType dtype : {DType::kU8, DType::kF16, DType::kI32, DType::kF64, DType::kC128}) {
    const int64_t size = BytesOf(dtype, 1);
    std::vector<uint8_t> from(6 * size), lanes(6 * size), back(6 * size);
    std::iota(from.begin(), from.end(), uint8_t{1});
    Pack(dtype, dims, from.data(), format, lanes.data());
    EXPECT_TRUE(
        std::equal(lanes.begin() + size, lanes.begin() + 2 * size, from.begin() + 3 * size));
    Unpack(dtype, dims, lanes.data(), format, back.data());
    EXPECT_EQ(back, from) << NameOf(dtype);
  }
}

TEST(PackTest, EmptyTensorMayHaveNoAddress) {
  Pack(DType::kF32, {0, 3, 2}, nullptr, Format::ChannelsLast({0, 3, 2}), nullptr);
  Unpack(DType::kF32, {0}, nullptr, Format::RowMajor({0}), nullptr);
}

}  // namespace
}  // namespace onnx_cudnn
