// Ops that sample images or make windows, on the CPU device and in Programs for a GPU.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "onnx_cudnn/session.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

class SamplingTest : public testing::TestWithParam<const char*> {
 protected:
  static Tensor Run(std::string_view text, const std::vector<NamedView>& inputs) {
    const std::string bytes = ModelBytesFromText(text).value();
    SessionOptions options{.device = DeviceChoice::kCpu};
    options.target = GetParam();
    const Session session = Session::LoadBytes(bytes, options).value();
    return std::move(session.Run(inputs).value()[0]);
  }

  template <typename T>
  static void ExpectNear(const Tensor& y, const std::vector<T>& expected, double tolerance) {
    ASSERT_EQ(y.elements(), static_cast<int64_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(y.data<T>()[i], expected[i], tolerance) << "at " << i;
  }
};

TEST_P(SamplingTest, AffineGridOfOneImage) {
  const std::array<float, 6> theta = {1, 0, 0.5, 0, 2, 0};  // x + 0.5, 2 y
  const Tensor y =
      Run("g (float[1,2,3] theta) => (float[1,2,3,2] y) <int64[4] size = {1, 1, 2, 3}> "
          "{ y = AffineGrid(theta, size) }",
          {{"theta", View(theta.data(), {1, 2, 3})}});
  ExpectNear<float>(y, {-1.0F / 6, -1, 0.5, -1, 7.0F / 6, -1, -1.0F / 6, 1, 0.5, 1, 7.0F / 6, 1},
                    1e-6);
}

TEST_P(SamplingTest, AffineGridLaysSingleElementsAtTheirFirstCorner) {
  const std::array<float, 12> theta = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  const Tensor y =
      Run("g (float[1,3,4] theta) => (float[1,1,1,3,3] y) <int64[5] size = {1, 1, 1, 1, 3}> "
          "{ y = AffineGrid<align_corners = 1>(theta, size) }",
          {{"theta", View(theta.data(), {1, 3, 4})}});
  ExpectNear<float>(y, {-1, -1, -1, 0, -1, -1, 1, -1, -1}, 0);
}

TEST_P(SamplingTest, AffineGridReadsItsSizeFromAnInput) {
  const std::array<double, 6> theta = {1, 0, 0, 0, 1, 0};
  const std::array<int64_t, 4> size = {1, 3, 1, 3};
  const Tensor y =
      Run("g (double[1,2,3] theta, int64[4] size) => (double[N,H,W,2] y) "
          "{ y = AffineGrid(theta, size) }",
          {{"theta", View(theta.data(), {1, 2, 3})}, {"size", View(size.data(), {4})}});
  EXPECT_EQ(y.shape(), (std::vector<int64_t>{1, 1, 3, 2}));
  ExpectNear<double>(y, {-2.0 / 3, 0, 0, 0, 2.0 / 3, 0}, 1e-15);
}

TEST_P(SamplingTest, WindowsOfF64AreExact) {
  const auto window = [](const char* op, bool is_periodic) {
    return Run(absl::StrCat("g () => (double[5] y) <int64 size = {5}> { y = ", op,
                            "<output_datatype = 11, periodic = ", is_periodic ? 1 : 0, ">(size) }"),
               {});
  };
  const auto expected = [](double constant, double once, double twice, double length) {
    std::vector<double> y;
    for (int i = 0; i < 5; ++i) {
      const double angle = 2 * std::numbers::pi * i / length;
      y.push_back(constant - once * std::cos(angle) + twice * std::cos(2 * angle));
    }
    return y;
  };
  ExpectNear(window("HannWindow", true), expected(0.5, 0.5, 0, 5), 1e-15);
  ExpectNear(window("HammingWindow", true), expected(25.0 / 46, 21.0 / 46, 0, 5), 1e-15);
  ExpectNear(window("BlackmanWindow", false), expected(0.42, 0.5, 0.08, 4), 1e-15);
}

TEST_P(SamplingTest, WindowsOfIntegersReachTheirPeak) {
  const Tensor y = Run(
      "g () => (int32[8] y) <int64 size = {8}> { y = BlackmanWindow<output_datatype = 6>(size) }",
      {});
  ExpectNear<int32_t>(y, {0, 0, 0, 0, 1, 0, 0, 0}, 0);
}

TEST_P(SamplingTest, ResizeInterpolatesIntegers) {
  const std::array<uint8_t, 3> x = {0, 2, 255};
  const Tensor y = Run(
      "g (uint8[3] x) => (uint8[6] y) <float[1] s = {2}> { y = Resize<mode = \"linear\">(x, , s) }",
      {{"x", View(x.data(), {3})}});
  ExpectNear<uint8_t>(y, {0, 0, 2, 65, 192, 255}, 0);
}

TEST_P(SamplingTest, GridSampleTakesAGridOfAnotherType) {
  const std::array<double, 2> x = {1, 2};
  const std::array<float, 1> grid = {0.25};
  const Tensor y =
      Run("g (double[1,1,2] x, float[1,1,1] grid) => (double[1,1,1] y) { y = GridSample(x, grid) }",
          {{"x", View(x.data(), {1, 1, 2})}, {"grid", View(grid.data(), {1, 1, 1})}});
  ExpectNear<double>(y, {1.75}, 0);
}

INSTANTIATE_TEST_SUITE_P(Targets, SamplingTest, testing::Values("cpu", "h200"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace onnx_cudnn
