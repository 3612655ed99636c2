// Casts from and to types of less than 16 bits; their elements are given as bytes.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

using Bytes = std::vector<uint8_t>;

HostTensor OfBytes(DType dtype, int64_t n, const Bytes& bytes) {
  return HostTensor::Of<uint8_t>(dtype, {n}, bytes);
}

Bytes BytesOf(const HostTensor& tensor) {
  const uint8_t* begin = static_cast<const uint8_t*>(tensor.raw());
  return {begin, begin + tensor.bytes()};
}

HostTensor Cast(const HostTensor& from, DType to, Attrs attrs = {}) {
  attrs.Set("to", static_cast<int64_t>(to));
  absl::StatusOr<std::vector<HostTensor>> results =
      RunOp({.op = "Cast", .inputs = {from}, .attrs = std::move(attrs)});
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? results->front() : HostTensor();
}

TEST(CastTest, PacksSmallIntegersFromTheirLowBits) {
  EXPECT_EQ(BytesOf(Cast(Row({-1, 2.9, 17, -9}), DType::kI4)), (Bytes{0x2f, 0x71}));
  EXPECT_EQ(BytesOf(Cast(RowI({16777217, 3, 7}), DType::kU4)), (Bytes{0x31, 0x07}));
  EXPECT_EQ(BytesOf(Cast(RowI({-1, 1, 2, 4, 3}), DType::kU2)), (Bytes{0x27, 0x03}));
  EXPECT_EQ(BytesOf(Cast(OfBytes(DType::kI4, 2, {0x7f}), DType::kU2)), (Bytes{0x0f}));
}

TEST(CastTest, UnpacksSmallIntegers) {
  EXPECT_EQ(NumbersOf(Cast(OfBytes(DType::kI4, 3, {0x8f, 0x07}), DType::kI8)).values,
            (std::vector<double>{-1, -8, 7}));
  EXPECT_EQ(NumbersOf(Cast(OfBytes(DType::kU2, 4, {0xe4}), DType::kF32)).values,
            (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(NumbersOf(Cast(OfBytes(DType::kI2, 2, {0x02}), DType::kBool)).values,
            (std::vector<double>{1, 0}));
}

TEST(CastTest, RoundsToSmallFloats) {
  EXPECT_EQ(BytesOf(Cast(Row({1, -0.0, 0.46875}), DType::kF8E4M3FN)), (Bytes{0x38, 0x80, 0x2f}));
  EXPECT_EQ(BytesOf(Cast(Row({0.5, -4, 9}), DType::kF4E2M1)), (Bytes{0xe1, 0x07}));
}

TEST(CastTest, SaturatesUnlessTold) {
  const HostTensor large = Row({1e6, -kInf});
  EXPECT_EQ(BytesOf(Cast(large, DType::kF8E4M3FN)), (Bytes{0x7e, 0xfe}));
  EXPECT_EQ(BytesOf(Cast(large, DType::kF8E4M3FN, {{"saturate", int64_t{0}}})),
            (Bytes{0x7f, 0xff}));
  EXPECT_EQ(BytesOf(Cast(large, DType::kF8E5M2, {{"saturate", int64_t{0}}})), (Bytes{0x7c, 0xfc}));
}

TEST(CastTest, KeepsTheExponentAlone) {
  const HostTensor x = Row({1, 1.5, 1.75, -3});
  const auto mode = [](std::string name) { return Attrs{{"round_mode", std::move(name)}}; };
  EXPECT_EQ(BytesOf(Cast(x, DType::kF8E8M0)), (Bytes{127, 128, 128, 129}));
  EXPECT_EQ(BytesOf(Cast(x, DType::kF8E8M0, mode("down"))), (Bytes{127, 127, 127, 128}));
  EXPECT_EQ(BytesOf(Cast(x, DType::kF8E8M0, mode("nearest"))), (Bytes{127, 128, 128, 129}));
  EXPECT_EQ(BytesOf(Cast(Row({kNaN, kInf}), DType::kF8E8M0)), (Bytes{255, 255}));
  EXPECT_EQ(NumbersOf(Cast(OfBytes(DType::kF8E8M0, 2, {127, 130}), DType::kF32)).values,
            (std::vector<double>{1, 8}));
}

}  // namespace
}  // namespace onnx_cudnn
