// SessionOptions::check_finite.
#include <gtest/gtest.h>

#include "tests/session/shifted_relu.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_maker.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kQuotient =
    "g (float[2] x, float[2] d) => (float[2] y) { y = Div(x, d) }";
const std::vector<float> kOnes = {1, 1}, kTwos = {2, 2}, kWithZero = {2, 0};

std::vector<NamedView> By(const std::vector<float>& divisor) {
  return {View(kOnes.data(), {2}), View(divisor.data(), {2})};
}

constexpr char kMessage[] = "output \"y\": 1 of 2 elements are NaN or infinite";

TEST(CheckFiniteTest, IsOffUnlessItIsAskedFor) {
  const Session session = LoadText(kQuotient, {.device = DeviceChoice::kCpu});
  EXPECT_TRUE(session.Run(By(kWithZero)).ok());
}

TEST(CheckFiniteTest, ARunEndsWithTheOutput) {
  const Session session = LoadText(kQuotient, {.device = DeviceChoice::kCpu, .check_finite = true});
  EXPECT_TRUE(session.Run(By(kTwos)).ok());
  ExpectError(session.Run(By(kWithZero)), ErrorCode::kInvalidArgument, kMessage);
  std::vector<float> y(2);
  ExpectError(session.Run(By(kWithZero), {View(y.data(), {2})}), ErrorCode::kInvalidArgument,
              kMessage);
  std::vector<float> divisor = kTwos;
  Binding binding = session.Bind(By(divisor), {View(y.data(), {2})}).value();
  EXPECT_TRUE(binding.Run().ok());
  divisor = kWithZero;
  ExpectError(binding.Run(), ErrorCode::kInvalidArgument, kMessage);
}

TEST(CheckFiniteTest, Fp16ThatOverflowsIsFound) {
  const auto load = [](std::vector<std::string> keep) {
    return LoadText(
        "g (float[1,2] x) => (float[1,1] y) <float[2,1] w = {60000, 60000}> { y = MatMul(x, w) }",
        {.device = DeviceChoice::kCpu,
         .precision = PrecisionChoice::kFp16,
         .keep_f32 = std::move(keep),
         .check_finite = true});
  };
  const std::vector<NamedView> x = {View(kOnes.data(), {1, 2})};
  ExpectError(load({}).Run(x), ErrorCode::kInvalidArgument, "1 of 1 elements");
  EXPECT_EQ(load({"y"}).Run(x).value()[0].data<float>()[0], 120000);
}

TEST(CheckFiniteTest, OutputsInDeviceMemoryAreRead) {
  const Session session = SessionMaker::Make(kQuotient, {.check_finite = true}).value();
  const Tensor x = session.ToDevice(View(kOnes.data(), {2})).value();
  const Tensor d = session.ToDevice(View(kWithZero.data(), {2})).value();
  const Tensor y = session.ToDevice(View(kOnes.data(), {2})).value();
  ExpectError(session.Run({x.view(), d.view()}, {y.view()}), ErrorCode::kInvalidArgument, kMessage);
  int stream = 0;
  ExpectError(session.Run({x.view(), d.view()}, {y.view()}, {.stream = &stream}),
              ErrorCode::kInvalidArgument, "option check_finite");
}

}  // namespace
}  // namespace onnx_cudnn
