#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using I = std::vector<int64_t>;
using Doubles = std::vector<double>;

struct PoolCase {
  Dims x;  // [N,C,H,W]
  I kernel, strides, dilations, pads;
  bool ceil = false;
};

const std::vector<PoolCase>& PoolCases() {
  static const auto& cases = *new std::vector<PoolCase>{
      {{2, 3, 9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
      {{1, 2, 7, 10}, {2, 3}, {1, 3}, {1, 1}, {0, 2, 1, 0}},
      {{1, 2, 9, 9}, {3, 2}, {1, 2}, {2, 3}, {2, 0, 1, 1}},
      {{1, 2, 7, 8}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true},
      {{1, 1, 6, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, true},
      {{1, 1, 4, 5}, {2, 2}, {3, 3}, {1, 1}, {0, 0, 0, 0}, true},
      {{1, 1, 2, 5}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, true},  // larger than the input
      {{1, 40, 40, 50}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
  };
  return cases;
}

Attrs AttrsOf(const PoolCase& c) {
  return {{"kernel_shape", c.kernel},
          {"strides", c.strides},
          {"dilations", c.dilations},
          {"pads", c.pads},
          {"ceil_mode", int64_t{c.ceil}}};
}

struct Window {
  Doubles values;
  I indices;       // in x
  int64_t padded;  // positions within the padded input
};

Window WindowOf(const PoolCase& c, const Doubles& x, const Dims& y, int64_t out) {
  const int64_t w = out % y[3], h = out / y[3] % y[2], plane = out / (y[3] * y[2]);
  Window window = {};
  for (int64_t kh = 0; kh < c.kernel[0]; ++kh) {
    for (int64_t kw = 0; kw < c.kernel[1]; ++kw) {
      const int64_t ih = h * c.strides[0] + kh * c.dilations[0] - c.pads[0];
      const int64_t iw = w * c.strides[1] + kw * c.dilations[1] - c.pads[1];
      if (ih < c.x[2] + c.pads[2] && iw < c.x[3] + c.pads[3]) ++window.padded;
      if (ih < 0 || ih >= c.x[2] || iw < 0 || iw >= c.x[3]) continue;
      window.indices.push_back((plane * c.x[2] + ih) * c.x[3] + iw);
      window.values.push_back(x[window.indices.back()]);
    }
  }
  return window;
}

template <typename F>
void ExpectWindows(const char* op, const Attrs& extra, DType dtype, double tolerance,
                   F&& expected) {
  for (const PoolCase& c : PoolCases()) {
    Attrs attrs = AttrsOf(c);
    for (const auto& [name, value] : extra) attrs.Set(name, value);
    const Doubles x = Pattern(ElementsOf(c.x), 1);
    const Numbers y = RunForNumbers({op, {TensorOf(dtype, c.x, x)}, attrs});
    for (size_t i = 0; i < y.values.size(); ++i) {
      ASSERT_NEAR(y.values[i], expected(WindowOf(c, x, y.dims, i)), tolerance) << op << " at " << i;
    }
  }
}

double SumOf(const Doubles& values) {
  double sum = 0;
  for (double v : values) sum += v;
  return sum;
}

TEST(MaxPoolTest, AgreesWithPlainLoops) {
  const auto largest = [](const Window& w) {
    return *std::max_element(w.values.begin(), w.values.end());
  };
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16})
    ExpectWindows("MaxPool", {}, dtype, 0, largest);
}

TEST(MaxPoolTest, ReturnsTheIndexOfTheFirstLargest) {
  for (const PoolCase& c : PoolCases()) {
    const Doubles x = Pattern(ElementsOf(c.x), 1);
    const auto results = RunOp({"MaxPool", {F32(c.x, x)}, AttrsOf(c), 2});
    ASSERT_TRUE(results.ok()) << results.status();
    const Numbers y = NumbersOf((*results)[0]), indices = NumbersOf((*results)[1]);
    for (size_t i = 0; i < y.values.size(); ++i) {
      const Window w = WindowOf(c, x, y.dims, i);
      const auto best = std::max_element(w.values.begin(), w.values.end());
      ASSERT_EQ(y.values[i], *best);
      ASSERT_EQ(indices.values[i], w.indices[best - w.values.begin()]);
    }
  }
}

TEST(MaxPoolTest, CountsIndicesByColumnForStorageOrder1) {
  const auto results = RunOp({"MaxPool",
                              {F32({1, 1, 2, 3}, {0, 1, 2, 3, 9, 5})},
                              {{"kernel_shape", I{2, 3}}, {"storage_order", int64_t{1}}},
                              2});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(NumbersOf((*results)[1]).values, Doubles{3});
}

TEST(MaxPoolTest, TakesBytes) {
  const Attrs attrs = {{"kernel_shape", I{2}}, {"pads", I{1, 0}}};
  EXPECT_EQ(
      RunForNumbers({"MaxPool", {TensorOf(DType::kI8, {1, 1, 3}, {-5, -7, -128})}, attrs}).values,
      (Doubles{-5, -5, -7}));
  EXPECT_EQ(
      RunForNumbers({"MaxPool", {TensorOf(DType::kU8, {1, 1, 3}, {200, 7, 255})}, attrs}).values,
      (Doubles{200, 200, 255}));
}

TEST(MaxPoolTest, AnswersMinusInfinityInThePadding) {
  const Numbers y = RunForNumbers(
      {"MaxPool", {F32({1, 1, 2}, {3, 4})}, {{"kernel_shape", I{1}}, {"pads", I{1, 0}}}});
  EXPECT_EQ(y.values, (Doubles{-std::numeric_limits<double>::infinity(), 3, 4}));
}

TEST(MaxPoolTest, RunsOneAndThreeDimensions) {
  EXPECT_EQ(
      RunForNumbers({"MaxPool", {F32({1, 1, 4}, {1, 3, 2, 5})}, {{"kernel_shape", I{2}}}}).values,
      (Doubles{3, 3, 5}));
  EXPECT_EQ(RunForNumbers({"MaxPool",
                           {F32({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
                           {{"kernel_shape", I{2, 1, 2}}}})
                .values,
            (Doubles{6, 8}));
}

TEST(MaxPoolTest, TakesAnEmptyBatch) {
  EXPECT_EQ(RunForNumbers({"MaxPool", {F32({0, 2, 4, 4}, {})}, {{"kernel_shape", I{2, 2}}}}).dims,
            (Dims{0, 2, 3, 3}));
}

TEST(MaxPoolTest, RefusesOddAttributes) {
  const HostTensor x = F32({1, 1, 4, 4}, Pattern(16, 1));
  EXPECT_FALSE(RunOp({"MaxPool", {x}, {{"kernel_shape", I{2, 2}}, {"strides", I{0, 1}}}}).ok());
  EXPECT_FALSE(RunOp({"MaxPool", {x}, {{"kernel_shape", I{2}}}}).ok());
  EXPECT_FALSE(RunOp({"MaxPool", {x}, {{"kernel_shape", I{9, 9}}}}).ok());
}

TEST(AveragePoolTest, AgreesWithPlainLoops) {
  const auto inside = [](const Window& w) {
    return w.values.empty() ? 0 : SumOf(w.values) / w.values.size();
  };
  ExpectWindows("AveragePool", {}, DType::kF32, 1e-6, inside);
  ExpectWindows("AveragePool", {}, DType::kF64, 1e-12, inside);
  ExpectWindows("AveragePool", {}, DType::kF16, 2e-3, inside);
}

TEST(AveragePoolTest, CountsThePaddingWhenAsked) {
  ExpectWindows("AveragePool", {{"count_include_pad", int64_t{1}}}, DType::kF32, 1e-6,
                [](const Window& w) { return SumOf(w.values) / w.padded; });
}

TEST(AveragePoolTest, AnswersZeroInThePadding) {
  const Numbers y = RunForNumbers(
      {"AveragePool", {F32({1, 1, 2}, {3, 4})}, {{"kernel_shape", I{1}}, {"pads", I{1, 0}}}});
  EXPECT_EQ(y.values, (Doubles{0, 3, 4}));
}

TEST(LpPoolTest, AgreesWithPlainLoops) {
  for (int64_t p : {1, 2, 3}) {
    ExpectWindows("LpPool", {{"p", p}}, DType::kF32, 1e-4, [p](const Window& w) {
      double sum = 0;
      for (double v : w.values) sum += std::pow(std::abs(v), p);
      return std::pow(sum, 1.0 / p);
    });
  }
}

TEST(GlobalPoolTest, ReducesEveryPlane) {
  const HostTensor x = F32({1, 2, 1, 3}, {1, 2, 6, -1, -2, -2});
  EXPECT_EQ(RunForNumbers({"GlobalAveragePool", {x}}).values, (Doubles{3, -5 / 3.0f}));
  EXPECT_EQ(RunForNumbers({"GlobalMaxPool", {x}}).values, (Doubles{6, -1}));
  EXPECT_EQ(RunForNumbers({"GlobalLpPool", {x}, {{"p", int64_t{1}}}}).values, (Doubles{9, 5}));
  EXPECT_EQ(RunForNumbers({"GlobalLpPool", {F32({1, 1, 2}, {3, 4})}}).values, Doubles{5});
}

}  // namespace
}  // namespace onnx_cudnn
