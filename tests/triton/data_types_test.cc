// Types and strings of Triton.
#include "runtime/triton/data_types.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onnx_cudnn::triton {
namespace {

using Strings = std::vector<std::string>;

std::string Written(const Strings& strings) {
  std::string bytes(BytesOfStrings(strings), '\0');
  WriteStrings(strings, bytes.data());
  return bytes;
}

std::string ErrorOf(std::string_view bytes, size_t count) {
  Strings strings(count);
  return std::string(ReadStrings(bytes, absl::MakeSpan(strings)).message());
}

TEST(TritonDataTypesTest, TypesGoBothWays) {
  EXPECT_EQ(DTypeOf(TRITONSERVER_TYPE_FP16), DType::kF16);
  EXPECT_EQ(DataTypeOf(DType::kI64), TRITONSERVER_TYPE_INT64);
  EXPECT_EQ(ConfigNameOf(DType::kString), "TYPE_STRING");
  EXPECT_EQ(DataTypeOf(DType::kF8E4M3FN), TRITONSERVER_TYPE_INVALID);
  EXPECT_EQ(ConfigNameOf(DType::kI4), "");
  int known = 0;
  for (int i = 1; i <= kLastDType; ++i) {
    const auto type = DataTypeOf(static_cast<DType>(i));
    if (type == TRITONSERVER_TYPE_INVALID) continue;
    EXPECT_EQ(DTypeOf(type), static_cast<DType>(i));
    ++known;
  }
  EXPECT_EQ(known, static_cast<int>(TRITONSERVER_TYPE_BF16));  // all that Triton has
}

TEST(TritonDataTypesTest, StringsHaveTheirLengthsBeforeThem) {
  EXPECT_EQ(Written({"ab", "", "c"}), std::string("\2\0\0\0ab\0\0\0\0\1\0\0\0c", 15));
  Strings read(3);
  ASSERT_TRUE(ReadStrings(Written({"ab", "", "c"}), absl::MakeSpan(read)).ok());
  EXPECT_EQ(read, Strings({"ab", "", "c"}));
}

TEST(TritonDataTypesTest, StringsThatEndEarlyOrLateAreRefused) {
  const std::string two = Written({"ab", "c"});
  EXPECT_EQ(ErrorOf(two, 3), "expected 3 strings, the bytes end in string 2");
  EXPECT_EQ(ErrorOf(two.substr(0, 5), 1), "expected 1 strings, the bytes end in string 0");
  EXPECT_EQ(ErrorOf(two.substr(0, 3), 1), "expected 1 strings, the bytes end in string 0");
  EXPECT_EQ(ErrorOf(two, 1), "expected 1 strings, found 5 bytes behind them");
  EXPECT_EQ(ErrorOf("\xff\xff\xff\xff", 1), "expected 1 strings, the bytes end in string 0");
}

}  // namespace
}  // namespace onnx_cudnn::triton
