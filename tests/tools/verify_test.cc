#include "tools/common/verify.h"

#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "runtime/graph/float16.h"
#include "runtime/ops/small_types.h"

namespace onnx_cudnn {
namespace {

constexpr PrecisionChoice kStrict = PrecisionChoice::kStrict;

HostTensor F32(std::vector<float> values) {
  return HostTensor::Of<float>(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

HostTensor Small(DType dtype, std::vector<float> values) {
  HostTensor tensor = HostTensor::Allocate(dtype, {static_cast<int64_t>(values.size())});
  StoreSmall(dtype, values.data(), tensor.elements(), /*saturate=*/true, tensor.mutable_raw(), 0);
  return tensor;
}

int64_t Beyond(const HostTensor& found, const HostTensor& expected) {
  const VerifyTolerance tolerance = ToleranceFor(expected.dtype(), kStrict, {}, {});
  return CompareOutputs(found, expected, tolerance)->beyond;
}

TEST(ToleranceForTest, F32HasOnnxsOwn) {
  const VerifyTolerance f32 = ToleranceFor(DType::kF32, kStrict, {}, {});
  EXPECT_EQ(f32.rtol, 1e-3);
  EXPECT_EQ(f32.absolute, 1e-7);
  EXPECT_EQ(ToString(f32), "beyond rtol 0.001 + atol 1e-05 x largest (f32)");
}

TEST(ToleranceForTest, ShorterFloatsHaveMoreWhetherOfTheOutputOrOfTheArithmetic) {
  using enum PrecisionChoice;
  EXPECT_EQ(ToleranceFor(DType::kF16, kStrict, {}, {}).of, "fp16");
  EXPECT_EQ(ToleranceFor(DType::kF32, kFp16, {}, {}).of, "fp16");
  EXPECT_EQ(ToleranceFor(DType::kBF16, kFp16, {}, {}).of, "bf16");
  EXPECT_EQ(ToleranceFor(DType::kF32, kTf32, {}, {}).of, "tf32");
  EXPECT_EQ(ToleranceFor(DType::kF32, kFp16, {}, {}).atol, 5e-2);
  EXPECT_EQ(ToleranceFor(DType::kF32, kBf16, {}, {}).atol, 8e-2);
}

TEST(ToleranceForTest, TheFlagsReplaceTheirPart) {
  const VerifyTolerance rtol = ToleranceFor(DType::kF32, kStrict, 0.5, {});
  EXPECT_EQ(rtol.rtol, 0.5);
  EXPECT_EQ(rtol.atol, 1e-5);
  EXPECT_EQ(rtol.of, "atol of f32");
  const VerifyTolerance atol = ToleranceFor(DType::kF32, kStrict, {}, 0.0);
  EXPECT_EQ(atol.rtol, 1e-3);
  EXPECT_EQ(atol.absolute, 0);
  EXPECT_EQ(ToleranceFor(DType::kF32, kStrict, 0.5, 0.25).of, "as given");
  EXPECT_EQ(ToleranceFor(DType::kI32, kStrict, 0.5, 0.25).of, "exact");
}

TEST(CompareOutputsTest, FloatsMayDifferByTheTolerance) {
  EXPECT_EQ(Beyond(F32({1.0009f, 0}), F32({1, 0})), 0);
  EXPECT_EQ(Beyond(F32({1.0011f, 0}), F32({1, 0})), 1);
  EXPECT_EQ(Beyond(F32({1, 9e-6f}), F32({1, 0})), 0);
  EXPECT_EQ(Beyond(F32({1, 1.1e-5f}), F32({1, 0})), 1);
  EXPECT_EQ(Beyond(F32({9e-8f}), F32({0})), 0);
  EXPECT_EQ(Beyond(F32({1.1e-7f}), F32({0})), 1);
}

TEST(CompareOutputsTest, IntegersAreExact) {
  const auto of = [](int32_t x) { return HostTensor::Of<int32_t>(DType::kI32, {2}, {7, x}); };
  EXPECT_EQ(Beyond(of(100000), of(100000)), 0);
  EXPECT_EQ(Beyond(of(100001), of(100000)), 1);
}

TEST(CompareOutputsTest, StringsThatDifferAreCounted) {
  const HostTensor expected = HostTensor::Strings({3}, {"a", "b", "c"});
  EXPECT_EQ(Beyond(expected, HostTensor::Strings({3}, {"a", "b", "c"})), 0);
  EXPECT_EQ(Beyond(HostTensor::Strings({3}, {"a", "", "d"}), expected), 2);
}

TEST(CompareOutputsTest, SmallFloatsAndIntegersAreNumbers) {
  for (const DType dtype : {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2,
                            DType::kF8E5M2FNUZ, DType::kF4E2M1, DType::kU4, DType::kI4}) {
    const HostTensor expected = Small(dtype, {0, 1, 4});
    EXPECT_EQ(Beyond(Small(dtype, {0, 1, 4}), expected), 0) << NameOf(dtype);
    EXPECT_EQ(Beyond(Small(dtype, {0, 1, 3}), expected), 1) << NameOf(dtype);
  }
  EXPECT_EQ(Beyond(Small(DType::kU2, {0, 3}), Small(DType::kU2, {1, 3})), 1);
  EXPECT_EQ(Beyond(Small(DType::kI2, {0, 1}), Small(DType::kI2, {0, 1})), 0);
}

TEST(CompareOutputsTest, ComplexNumbersAreComparedByTheirParts) {
  const auto of = [](float imaginary) {
    return HostTensor::Of<std::complex<float>>(DType::kC64, {1}, {{1, imaginary}});
  };
  EXPECT_EQ(Beyond(of(1), of(1)), 0);
  EXPECT_EQ(Beyond(of(1.1f), of(1)), 1);
}

TEST(CompareOutputsTest, AnotherTypeOrShapeIsADifference) {
  const VerifyTolerance tolerance;
  EXPECT_EQ(CompareOutputs(F32({1}), Small(DType::kU4, {1}), tolerance)->type,
            "expected u4[1], found f32[1]");
  EXPECT_EQ(CompareOutputs(HostTensor::Strings({1}, {"a"}), HostTensor::Strings({2}, {"a", "b"}),
                           tolerance)
                ->type,
            "expected string[2], found string[1]");
}

}  // namespace
}  // namespace onnx_cudnn
