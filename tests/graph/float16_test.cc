#include "runtime/graph/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace onnx_cudnn {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename Half>
void ExpectEveryNumberComesBack(Half (*narrow)(float)) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half x{static_cast<uint16_t>(bits)};
    const float wide = ToFloat(x);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(ToFloat(narrow(wide))));
    } else {
      ASSERT_EQ(narrow(wide).bits, x.bits);
    }
  }
}

TEST(Float16Test, EveryNumberComesBack) { ExpectEveryNumberComesBack(ToFloat16); }

TEST(Float16Test, HalvesRoundToEven) {
  EXPECT_EQ(ToFloat(ToFloat16(2049)), 2048);
  EXPECT_EQ(ToFloat(ToFloat16(2051)), 2052);
  EXPECT_EQ(ToFloat(ToFloat16(0x1p-25F)), 0);  // half of the least subnormal
  EXPECT_EQ(ToFloat(ToFloat16(0x1.8p-24F)), 0x1p-23F);
}

TEST(Float16Test, LargeNumbersBecomeInfinity) {
  EXPECT_EQ(ToFloat(ToFloat16(65519)), 65504);
  EXPECT_EQ(ToFloat(ToFloat16(65520)), kInf);
  EXPECT_EQ(ToFloat(ToFloat16(-kInf)), -kInf);
}

TEST(BFloat16Test, EveryNumberComesBack) { ExpectEveryNumberComesBack(ToBFloat16); }

TEST(BFloat16Test, HalvesRoundToEven) {
  EXPECT_EQ(ToFloat(ToBFloat16(257)), 256);
  EXPECT_EQ(ToFloat(ToBFloat16(259)), 260);
  EXPECT_EQ(ToFloat(ToBFloat16(std::numeric_limits<float>::max())), kInf);
}

}  // namespace
}  // namespace onnx_cudnn
