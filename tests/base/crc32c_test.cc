#include "runtime/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/crc/crc32c.h"

namespace onnx_cudnn {
namespace {

TEST(Crc32cTest, HasTheValuesOfTheStandard) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);            // the check value of CRC-32C
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
}

TEST(Crc32cTest, EqualsAbseilsForEveryLength) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(Crc32c(bytes), static_cast<uint32_t>(absl::ComputeCrc32c(bytes))) << i;
    bytes.push_back(static_cast<char>(i * 37 + 11));
  }
}

}  // namespace
}  // namespace onnx_cudnn
