#include "runtime/base/integers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace onnx_cudnn {
namespace {

TEST(CeilDivTest, CountsThePartThatIsNotWhole) {
  EXPECT_EQ(CeilDiv(0, 4), 0);
  EXPECT_EQ(CeilDiv(1, 4), 1);
  EXPECT_EQ(CeilDiv(4, 4), 1);
  EXPECT_EQ(CeilDiv(5, 4), 2);
}

TEST(CeilDivTest, ComputesInTheWiderType) {
  constexpr int64_t kMany = int64_t{1} << 40;
  EXPECT_EQ(CeilDiv(kMany + 1, 2), kMany / 2 + 1);
  EXPECT_EQ(CeilDiv(3, kMany), 1);
  EXPECT_EQ(CeilDiv(kMany - 1, 1024U), kMany / 1024);
  static_assert(std::is_same_v<decltype(CeilDiv(1, 1)), int>);
  static_assert(std::is_same_v<decltype(CeilDiv(int64_t{1}, 1U)), int64_t>);
}

}  // namespace
}  // namespace onnx_cudnn
