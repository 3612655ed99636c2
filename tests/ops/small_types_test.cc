#include "runtime/ops/small_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float Rounded(DType dtype, float number, bool saturate = true) {
  return DecodeSmall(dtype, EncodeSmall(dtype, number, saturate));
}

TEST(SmallTypesTest, EveryCodeSurvivesDecodingAndEncoding) {
  for (DType dtype : {DType::kU4, DType::kI4, DType::kU2, DType::kI2, DType::kF8E4M3FN,
                      DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF4E2M1}) {
    for (int code = 0; code < 1 << BitsOf(dtype); ++code) {
      const float number = DecodeSmall(dtype, static_cast<uint8_t>(code));
      if (std::isnan(number)) {
        EXPECT_TRUE(std::isnan(Rounded(dtype, number))) << NameOf(dtype) << " " << code;
      } else {
        EXPECT_EQ(EncodeSmall(dtype, number, /*saturate=*/false), code) << NameOf(dtype);
      }
    }
  }
}

TEST(SmallTypesTest, DecodesTheExtremesOfEachType) {
  EXPECT_EQ(DecodeSmall(DType::kF8E4M3FN, 0x7e), 448);
  EXPECT_EQ(DecodeSmall(DType::kF8E4M3FN, 0x01), 0x1p-9F);
  EXPECT_EQ(DecodeSmall(DType::kF8E4M3FNUZ, 0x7f), 240);
  EXPECT_EQ(DecodeSmall(DType::kF8E5M2, 0x7b), 57344);
  EXPECT_EQ(DecodeSmall(DType::kF8E5M2, 0xfc), -kInfinity);
  EXPECT_EQ(DecodeSmall(DType::kF8E5M2FNUZ, 0x01), 0x1p-17F);
  EXPECT_EQ(DecodeSmall(DType::kF8E8M0, 0), 0x1p-127F);
  EXPECT_EQ(DecodeSmall(DType::kF4E2M1, 0xf), -6);
  EXPECT_EQ(DecodeSmall(DType::kI4, 0xf), -1);
  EXPECT_TRUE(std::isnan(DecodeSmall(DType::kF8E4M3FNUZ, 0x80)));
  EXPECT_TRUE(std::isnan(DecodeSmall(DType::kF8E8M0, 0xff)));
}

TEST(SmallTypesTest, RoundsHalvesToEven) {
  EXPECT_EQ(Rounded(DType::kF8E4M3FN, 17), 16);
  EXPECT_EQ(Rounded(DType::kF8E4M3FN, 19), 20);
  EXPECT_EQ(Rounded(DType::kF4E2M1, 2.5F), 2);
  EXPECT_EQ(Rounded(DType::kI4, -2.5F), -2);
}

TEST(SmallTypesTest, SaturatesWhereAsked) {
  EXPECT_EQ(Rounded(DType::kF8E4M3FN, 1e6F), 448);
  EXPECT_EQ(Rounded(DType::kF8E4M3FN, 464, /*saturate=*/false), 448);
  EXPECT_TRUE(std::isnan(Rounded(DType::kF8E4M3FN, 465, /*saturate=*/false)));
  EXPECT_EQ(Rounded(DType::kF8E5M2, -kInfinity), -57344);
  EXPECT_EQ(Rounded(DType::kF8E5M2, 61440, /*saturate=*/false), kInfinity);
  EXPECT_EQ(Rounded(DType::kF4E2M1, 100, /*saturate=*/false), 6);
  EXPECT_EQ(Rounded(DType::kU4, -1), 0);
  EXPECT_EQ(Rounded(DType::kI2, 5), 1);
}

TEST(SmallTypesTest, PacksTheFirstElementLowest) {
  const float numbers[] = {1, -2, 7};
  uint8_t bytes[] = {0xff, 0xff};
  StoreSmall(DType::kI4, numbers, 3, /*saturate=*/true, bytes, 0);
  EXPECT_EQ(bytes[0], 0xe1);
  EXPECT_EQ(bytes[1], 0x07);
  float back[2];
  LoadSmall(DType::kI4, bytes, 1, 2, back);
  EXPECT_EQ(back[0], -2);
  EXPECT_EQ(back[1], 7);
}

TEST(SmallTypesTest, FillsPackedElements) {
  HostTensor value = HostTensor::Allocate(DType::kU2, {1});
  *static_cast<uint8_t*>(value.mutable_raw()) = 2;
  const auto filled =
      RunOp({"ConstantOfShape", {TensorOf(DType::kI64, {1}, {5})}, {{"value", value}}});
  ASSERT_TRUE(filled.ok()) << filled.status();
  const auto* bytes = static_cast<const uint8_t*>(filled->front().raw());
  EXPECT_EQ(filled->front().dims(), (Dims{5}));
  EXPECT_EQ(bytes[0], 0b10101010);
  EXPECT_EQ(bytes[1], 0b10);
}

// Through memory: an odd count, and more than one block of a thread.
TEST(SmallTypesTest, QuantizeLinearAndBackOverManyBlocks) {
  constexpr int64_t kCount = 20001;
  const std::vector<double> numbers = Pattern(kCount, 7);
  HostTensor zero = HostTensor::Allocate(DType::kI4, {});
  *static_cast<uint8_t*>(zero.mutable_raw()) = 0;
  const HostTensor scale = F32({}, {0.5});
  const auto quantized = RunOp({"QuantizeLinear", {F32({kCount}, numbers), scale, zero}});
  ASSERT_TRUE(quantized.ok()) << quantized.status();
  ASSERT_EQ(quantized->front().dtype(), DType::kI4);
  const Numbers back = RunForNumbers({"DequantizeLinear", {quantized->front(), scale, zero}});
  for (int64_t i = 0; i < kCount; ++i) {
    const double expected = std::nearbyint(numbers[i] / 0.5) * 0.5;
    ASSERT_EQ(back.values[i], std::min(3.5, std::max(-4.0, expected))) << i;
  }
}

TEST(SmallTypesTest, QuantizeLinearTakesAScaleOfIntegers) {
  const Numbers y =
      RunForNumbers({"QuantizeLinear",
                     {TensorOf(DType::kI32, {4}, {-5, 5, 7, 1000}), TensorOf(DType::kI32, {}, {2}),
                      TensorOf(DType::kI8, {}, {1})}});
  EXPECT_EQ(y.values, (std::vector<double>{-1, 3, 5, 127}));
}

}  // namespace
}  // namespace onnx_cudnn
