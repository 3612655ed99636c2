#include "runtime/kernels/cuda/conv/register_operand.h"

#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/graph/float16.h"
#include "runtime/kernels/cuda/fused/stem_pool.h"

namespace onnx_cudnn {
namespace {

constexpr int kFilters = 64;

HostTensor Make(const Derived& derived, const HostTensor& source) {
  absl::StatusOr<HostTensor> made = derived.make(absl::MakeConstSpan(&source, 1));
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

// Expects that `steps` steps of `depth` cover each tap of the window once.
void ExpectEachTapOnce(StemTap (*tap_of)(int step, int k), int steps, int depth) {
  std::set<std::tuple<int, int, int>> taps;
  for (int step = 0; step < steps; ++step) {
    for (int k = 0; k < depth; ++k) {
      const StemTap tap = tap_of(step, k);
      if (tap.c < 0) continue;
      EXPECT_TRUE(taps.emplace(tap.r, tap.s, tap.c).second) << tap.r << " " << tap.s;
    }
  }
  EXPECT_EQ(taps.size(), static_cast<size_t>(kStemKernel * kStemKernel * kStemChannels));
}

TEST(StemTapTest, HasEachTapOfTheWindowOnce) {
  ExpectEachTapOnce(StemTapOf, kStemSteps, kStemStepDepth);
  ExpectEachTapOnce(StemTf32TapOf, kStemTf32Steps, kStemTf32StepDepth);
}

// A step's tap must match where BringRows stores its pixel: two rows per pair, the odd one first.
TEST(StemTapTest, FirstRowPairServesItsOddRowAlone) {
  for (int k = 0; k < 2 * kStemStepDepth; ++k) {
    const StemTap tap = StemTapOf(k / kStemStepDepth, k % kStemStepDepth);
    EXPECT_TRUE(tap.c < 0 || tap.r == 0);
  }
  const StemTap even = StemTapOf(2, 6);  // plane A of the second pair, its even row
  EXPECT_EQ(std::make_tuple(even.r, even.s, even.c), std::make_tuple(-1, -1, -1));  // column -1
  const StemTap inside = StemTapOf(2, 7);
  EXPECT_EQ(std::make_tuple(inside.r, inside.s, inside.c), std::make_tuple(1, 0, 2));
}

TEST(StemTapTest, OfTf32StandsWhereItsPlaneHasThePixel) {
  const auto at = [](int step, int k) {
    const StemTap tap = StemTf32TapOf(step, k);
    return std::make_tuple(tap.r, tap.s, tap.c);
  };
  const auto none = std::make_tuple(-1, -1, -1);
  EXPECT_EQ(at(0, 0), none);                      // column -1
  EXPECT_EQ(at(0, 1), std::make_tuple(0, 0, 0));  // the odd row's first channel
  EXPECT_EQ(at(0, 7), std::make_tuple(0, 2, 1));  // and second, a position on
  EXPECT_EQ(at(3, 1), std::make_tuple(0, 4, 2));  // channel 2 of both rows
  EXPECT_EQ(at(3, 3), none);                      // row -1
  EXPECT_EQ(at(7, 3), std::make_tuple(1, 4, 2));
  EXPECT_EQ(at(8, 1), std::make_tuple(1, 0, 0));   // the even row's first channel
  EXPECT_EQ(at(21, 7), std::make_tuple(5, 6, 1));  // the last pair's
}

// Filter f has the value 16 f + k at position k of its only step: all 1,024 elements of the
// fragments differ.
TEST(RegisterOperandTest, PutsRowsAndColumnsWhereWgmmaReadsThem) {
  HostTensor weight = HostTensor::Allocate(DType::kF16, {kFilters, 16});
  for (int i = 0; i < kFilters * 16; ++i) {
    weight.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(i);
  }
  const HostTensor made =
      Make(RegisterOperand(0, 1, "test", [](int, int k) { return int64_t{k}; }), weight);
  const absl::Span<const uint16_t> got = made.data<uint16_t>();
  ASSERT_EQ(got.size(), 1024u);
  const auto at = [&](int thread, int e) { return got[thread * 8 + e]; };
  EXPECT_EQ(at(0, 0), 0);  // row 0, columns 0 and 1
  EXPECT_EQ(at(0, 1), 1);
  EXPECT_EQ(at(0, 2), 8 * 16);          // row 8
  EXPECT_EQ(at(0, 4), 8);               // row 0, column 8
  EXPECT_EQ(at(0, 7), 8 * 16 + 9);      // row 8, column 9
  EXPECT_EQ(at(5, 0), 16 + 2);          // row 1, column 2
  EXPECT_EQ(at(127, 7), 63 * 16 + 15);  // the last warp's last
}

// The same for TF32: 8 f + k at position k.
TEST(RegisterOperandTest, PutsTf32WhereWgmmaReadsIt) {
  HostTensor weight = HostTensor::Allocate(DType::kF32, {kFilters, 8});
  for (int i = 0; i < kFilters * 8; ++i) weight.mutable_data<float>()[i] = static_cast<float>(i);
  const HostTensor made =
      Make(Tf32RegisterOperand(0, 1, "test", [](int, int k) { return int64_t{k}; }), weight);
  const absl::Span<const float> got = made.data<float>();
  ASSERT_EQ(got.size(), 512u);
  const auto at = [&](int thread, int e) { return got[thread * 4 + e]; };
  EXPECT_EQ(at(0, 0), 0);             // row 0, column 0
  EXPECT_EQ(at(0, 1), 8 * 8);         // row 8
  EXPECT_EQ(at(0, 2), 4);             // row 0, column 4
  EXPECT_EQ(at(0, 3), 8 * 8 + 4);     // row 8, column 4
  EXPECT_EQ(at(5, 0), 8 + 1);         // row 1, column 1
  EXPECT_EQ(at(127, 3), 63 * 8 + 7);  // the last warp's last
}

TEST(RegisterOperandTest, RoundsToTheNearestTf32) {
  constexpr float kLast = 1.0F / 1024, kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<float, float>> cases = {{1 + 0.25F * kLast, 1},
                                                      {1 + 0.75F * kLast, 1 + kLast},
                                                      {1 + 0.5F * kLast, 1},
                                                      {1 + 1.5F * kLast, 1 + 2 * kLast},
                                                      {-1 - 0.75F * kLast, -1 - kLast},
                                                      {kInfinity, kInfinity}};
  for (const auto& [from, to] : cases) {
    HostTensor weight = HostTensor::Allocate(DType::kF32, {kFilters, 1});
    for (int i = 0; i < kFilters; ++i) weight.mutable_data<float>()[i] = from;
    const HostTensor made =
        Make(Tf32RegisterOperand(0, 1, "test", [](int, int k) { return k == 0 ? 0 : -1; }), weight);
    EXPECT_EQ(made.data<float>()[0], to) << from;
  }
}

TEST(RegisterOperandTest, FillsWithZeros) {
  HostTensor weight = HostTensor::Allocate(DType::kBF16, {kFilters, 1});
  for (int i = 0; i < kFilters; ++i) weight.mutable_data<uint16_t>()[i] = 7;
  const HostTensor made =
      Make(RegisterOperand(0, 2, "test", [](int step, int k) { return step + k == 0 ? 0 : -1; }),
           weight);
  int sevens = 0;
  for (const uint16_t x : made.data<uint16_t>()) {
    EXPECT_TRUE(x == 0 || x == 7);
    sevens += x == 7 ? 1 : 0;
  }
  EXPECT_EQ(sevens, kFilters);
}

TEST(FloatBiasTest, WidensOrIsZero) {
  HostTensor bias = HostTensor::Allocate(DType::kF16, {kFilters});
  for (int i = 0; i < kFilters; ++i) {
    bias.mutable_data<Float16>()[i] = ToFloat16(static_cast<float>(i) / 4);
  }
  EXPECT_EQ(Make(FloatBias(/*bias=*/1, /*weight=*/0), bias).data<float>()[3], 0.75F);
  EXPECT_EQ(Make(FloatBias(/*bias=*/-1, /*weight=*/0), bias).data<float>()[3], 0.0F);
}

}  // namespace
}  // namespace onnx_cudnn
