#include "runtime/kernels/cuda/register_operand.h"

#include <set>
#include <tuple>

#include "gtest/gtest.h"
#include "runtime/graph/float16.h"
#include "runtime/kernels/cuda/stem_pool.h"

namespace onnx_cudnn {
namespace {

constexpr int kFilters = 64;

HostTensor Make(const Derived& derived, const HostTensor& source) {
  absl::StatusOr<HostTensor> made = derived.make(absl::MakeConstSpan(&source, 1));
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

TEST(StemTapTest, HasEachTapOfTheWindowOnce) {
  std::set<std::tuple<int, int, int>> taps;
  for (int step = 0; step < kStemSteps; ++step) {
    for (int k = 0; k < kStemStepDepth; ++k) {
      const StemTap tap = StemTapOf(step, k);
      if (tap.c < 0) continue;
      EXPECT_TRUE(taps.emplace(tap.r, tap.s, tap.c).second) << tap.r << " " << tap.s;
    }
  }
  EXPECT_EQ(taps.size(), static_cast<size_t>(kStemKernel * kStemKernel * kStemChannels));
}

// A step's tap stands where BringRows puts its pixel: two rows a pair, the odd one first.
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

// Filter f has the value 16 f + k at place k of its one step: all 1,024 fragments' elements differ.
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
