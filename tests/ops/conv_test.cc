#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using I = std::vector<int64_t>;

struct ConvCase {
  Dims x, w;
  I strides, pads, dilations;  // each for three axes, pads for six
  int64_t group = 1;
};

// Every case is run as a 3-D convolution by plain loops.
std::vector<double> NaiveConv(const ConvCase& c, const std::vector<double>& x,
                              const std::vector<double>& w, const std::vector<double>& bias,
                              const Dims& y) {
  std::vector<double> out(ElementsOf(y), 0);
  const int64_t filters = c.w[0] / c.group;
  for (int64_t i = 0; i < ElementsOf(y); ++i) {
    const int64_t ow = i % y[4], oh = i / y[4] % y[3], od = i / (y[4] * y[3]) % y[2];
    const int64_t m = i / (y[4] * y[3] * y[2]) % y[1], n = i / (y[4] * y[3] * y[2] * y[1]);
    out[i] = bias.empty() ? 0 : bias[m];
    for (int64_t j = 0; j < c.w[1] * c.w[2] * c.w[3] * c.w[4]; ++j) {
      const int64_t kw = j % c.w[4], kh = j / c.w[4] % c.w[3], kd = j / (c.w[4] * c.w[3]) % c.w[2];
      const int64_t ch = j / (c.w[4] * c.w[3] * c.w[2]);
      const int64_t d = od * c.strides[0] + kd * c.dilations[0] - c.pads[0];
      const int64_t h = oh * c.strides[1] + kh * c.dilations[1] - c.pads[1];
      const int64_t v = ow * c.strides[2] + kw * c.dilations[2] - c.pads[2];
      if (d < 0 || d >= c.x[2] || h < 0 || h >= c.x[3] || v < 0 || v >= c.x[4]) continue;
      const int64_t channel = m / filters * c.w[1] + ch;
      out[i] += x[(((n * c.x[1] + channel) * c.x[2] + d) * c.x[3] + h) * c.x[4] + v] *
                w[m * c.w[1] * c.w[2] * c.w[3] * c.w[4] + j];
    }
  }
  return out;
}

// Drops leading spatial axes.
Dims Last(const Dims& dims, int rank) {
  Dims last = {dims[0], dims[1]};
  last.insert(last.end(), dims.end() - rank, dims.end());
  return last;
}
I LastOf(const I& list, int rank) { return I(list.end() - rank, list.end()); }

OpRun ConvRun(const ConvCase& c, int rank, DType dtype, bool with_bias) {
  I pads(c.pads.begin() + 3 - rank, c.pads.begin() + 3);
  pads.insert(pads.end(), c.pads.begin() + 6 - rank, c.pads.end());
  OpRun run = {.op = "Conv",
               .inputs = {TensorOf(dtype, Last(c.x, rank), Pattern(ElementsOf(c.x), 1)),
                          TensorOf(dtype, Last(c.w, rank), Pattern(ElementsOf(c.w), 2))},
               .attrs = {{"group", c.group},
                         {"strides", LastOf(c.strides, rank)},
                         {"dilations", LastOf(c.dilations, rank)},
                         {"pads", pads}}};
  if (with_bias) run.inputs.push_back(TensorOf(dtype, {c.w[0]}, Pattern(c.w[0], 3)));
  return run;
}

void ExpectSameAsLoops(const ConvCase& c, int rank, DType dtype, bool with_bias, double tolerance) {
  SCOPED_TRACE(absl::StrCat("x ", ToString(absl::MakeConstSpan(c.x)), " w ",
                            ToString(absl::MakeConstSpan(c.w)), " group ", c.group, " ",
                            NameOf(dtype)));
  const Numbers found = RunForNumbers(ConvRun(c, rank, dtype, with_bias));
  Dims y = {found.dims[0], found.dims[1], 1, 1, 1};
  std::copy(found.dims.begin() + 2, found.dims.end(), y.end() - rank);
  const std::vector<double> bias = with_bias ? Pattern(c.w[0], 3) : std::vector<double>();
  const std::vector<double> expected =
      NaiveConv(c, Pattern(ElementsOf(c.x), 1), Pattern(ElementsOf(c.w), 2), bias, y);
  ASSERT_EQ(found.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found.values[i], expected[i], tolerance * (1 + std::abs(expected[i])))
        << "at " << i;
  }
}

TEST(ConvTest, AgreesWithPlainLoops) {
  const I ones = {1, 1, 1}, none = {0, 0, 0, 0, 0, 0};
  const ConvCase cases[] = {
      {{1, 3, 1, 8, 9}, {4, 3, 1, 3, 3}, ones, {0, 1, 1, 0, 1, 1}, ones},
      {{2, 8, 1, 7, 7}, {16, 8, 1, 1, 1}, ones, none, ones},      // pointwise
      {{2, 8, 1, 9, 9}, {6, 8, 1, 1, 1}, {1, 2, 2}, none, ones},  // strided pointwise
      {{1, 3, 1, 23, 31}, {8, 3, 1, 7, 7}, {1, 2, 2}, {0, 3, 3, 0, 3, 3}, ones},
      {{1, 4, 1, 11, 13}, {6, 4, 1, 3, 2}, {1, 2, 3}, {0, 0, 2, 0, 1, 3}, {1, 2, 1}},  // asymmetric
      {{2, 6, 1, 9, 9}, {9, 2, 1, 3, 3}, ones, {0, 1, 1, 0, 1, 1}, ones, 3},           // groups
      {{1, 5, 1, 9, 10}, {5, 1, 1, 3, 3}, {1, 2, 2}, {0, 1, 1, 0, 1, 1}, ones, 5},     // depthwise
      {{2, 4, 1, 9, 10}, {8, 1, 1, 5, 3}, {1, 1, 3}, {0, 2, 4, 0, 2, 4}, {1, 1, 2}, 4},
      {{1, 2, 5, 6, 7}, {3, 2, 3, 2, 3}, {2, 1, 2}, {1, 0, 1, 1, 1, 0}, {1, 2, 1}},  // 3-D
      {{1, 40, 1, 60, 70}, {3, 40, 1, 3, 3}, ones, {0, 1, 1, 0, 1, 1}, ones},  // several blocks
      {{5, 3, 1, 4, 4},
       {2, 3, 1, 3, 3},
       ones,
       {0, 5, 5, 0, 5, 5},
       ones},  // outputs wholly in padding
  };
  for (const ConvCase& c : cases) {
    const int rank = c.x[2] == 1 ? 2 : 3;
    for (bool with_bias : {false, true}) {
      ExpectSameAsLoops(c, rank, DType::kF32, with_bias, 1e-5);
      ExpectSameAsLoops(c, rank, DType::kF64, with_bias, 1e-12);
    }
    ExpectSameAsLoops(c, rank, DType::kF16, true, 1e-3);
    ExpectSameAsLoops(c, rank, DType::kBF16, true, 1e-2);
  }
}

TEST(ConvTest, RunsOneDimension) {
  const ConvCase c = {{2, 3, 1, 1, 20}, {4, 3, 1, 1, 5}, {1, 1, 2}, {0, 0, 2, 0, 0, 1}, {1, 1, 2}};
  ExpectSameAsLoops(c, 1, DType::kF32, true, 1e-5);
}

TEST(ConvTest, PadsTheOddElementAtTheEndForSameUpper) {
  const HostTensor x = F32({1, 1, 1, 4}, {1, 2, 3, 4}), w = F32({1, 1, 1, 2}, {10, 1});
  EXPECT_EQ(RunForNumbers({"Conv", {x, w}, {{"auto_pad", "SAME_UPPER"}}}).values,
            (std::vector<double>{12, 23, 34, 40}));
  EXPECT_EQ(RunForNumbers({"Conv", {x, w}, {{"auto_pad", "SAME_LOWER"}}}).values,
            (std::vector<double>{1, 12, 23, 34}));
  EXPECT_EQ(RunForNumbers({"Conv", {x, w}, {{"auto_pad", "VALID"}}}).values,
            (std::vector<double>{12, 23, 34}));
}

TEST(ConvTest, TakesAnEmptyBatch) {
  const Numbers y =
      RunForNumbers({"Conv", {F32({0, 2, 5, 5}, {}), F32({3, 2, 3, 3}, Pattern(54, 1))}});
  EXPECT_EQ(y.dims, (Dims{0, 3, 3, 3}));
}

TEST(ConvTest, AnswersTheBiasWithoutInputChannels) {
  const Numbers y =
      RunForNumbers({"Conv", {F32({1, 0, 2, 2}, {}), F32({2, 0, 1, 1}, {}), F32({2}, {3, 4})}});
  EXPECT_EQ(y.values, (std::vector<double>{3, 3, 3, 3, 4, 4, 4, 4}));
}

TEST(ConvTest, RefusesOddAttributes) {
  const HostTensor x = F32({1, 1, 4, 4}, Pattern(16, 1)), w = F32({1, 1, 3, 3}, Pattern(9, 1));
  for (const Attrs& attrs :
       {Attrs{{"strides", I{0, 1}}}, Attrs{{"dilations", I{1}}}, Attrs{{"pads", I{0, 0, -1, 0}}},
        Attrs{{"group", int64_t{0}}}, Attrs{{"kernel_shape", I{2, 2}}}}) {
    EXPECT_FALSE(RunOp({"Conv", {x, w}, attrs}).ok());
  }
  EXPECT_FALSE(RunOp({"Conv", {x, F32({1, 2, 3, 3}, Pattern(18, 1))}}).ok());
  EXPECT_FALSE(RunOp({"Conv", {x, w, F32({2}, {1, 2})}}).ok());
}

TEST(ConvTest, AnswersTheSameToSeveralCallersAtOnce) {
  const ConvCase c = {
      {1, 16, 1, 30, 30}, {24, 16, 1, 3, 3}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}, {1, 1, 1}};
  const OpRun run = ConvRun(c, 2, DType::kF32, true);
  const Numbers expected = RunForNumbers(run);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int j = 0; j < 3; ++j) EXPECT_EQ(RunForNumbers(run).values, expected.values);
    });
  }
  for (std::thread& t : callers) t.join();
}

// A ConvTranspose is the adjoint: <conv(y), x> = <y, transpose(x)> for every x and y.
void ExpectAdjoint(const Dims& x, const Dims& w, const Attrs& attrs) {
  const HostTensor weight = F32(w, Pattern(ElementsOf(w), 2));
  const Numbers large =
      RunForNumbers({"ConvTranspose", {F32(x, Pattern(ElementsOf(x), 1)), weight}, attrs});
  const std::vector<double> probe = Pattern(ElementsOf(large.dims), 7);
  Attrs conv = attrs;
  conv.Remove("output_padding");
  const Numbers small = RunForNumbers({"Conv", {F32(large.dims, probe), weight}, conv});
  ASSERT_EQ(small.dims, x);
  const std::vector<double> in = Pattern(ElementsOf(x), 1);
  double left = 0, right = 0;
  for (size_t i = 0; i < in.size(); ++i) left += in[i] * small.values[i];
  for (size_t i = 0; i < probe.size(); ++i) right += probe[i] * large.values[i];
  EXPECT_NEAR(left, right, 1e-4 * (1 + std::abs(left)));
}

TEST(ConvTransposeTest, IsTheAdjointOfConv) {
  ExpectAdjoint({2, 3, 5, 6}, {3, 4, 3, 3}, {});
  ExpectAdjoint({1, 4, 5, 6}, {4, 3, 2, 2}, {{"strides", I{2, 2}}});
  ExpectAdjoint({1, 4, 5, 6}, {4, 2, 3, 3}, {{"strides", I{2, 3}}, {"pads", I{1, 0, 1, 2}}});
  ExpectAdjoint({1, 6, 4, 4}, {6, 2, 3, 3}, {{"group", int64_t{3}}, {"dilations", I{2, 1}}});
  ExpectAdjoint({1, 2, 4, 4}, {2, 2, 3, 3}, {{"strides", I{2, 2}}, {"output_padding", I{1, 1}}});
  ExpectAdjoint({1, 2, 7}, {2, 3, 4}, {{"strides", I{3}}});
  ExpectAdjoint({1, 2, 3, 4, 5}, {2, 3, 2, 2, 3}, {{"strides", I{1, 2, 1}}});
}

TEST(ConvTransposeTest, AddsTheBias) {
  const Numbers y =
      RunForNumbers({"ConvTranspose",
                     {F32({1, 1, 1, 2}, {1, 2}), F32({1, 1, 1, 2}, {10, 1}), F32({1}, {0.5})},
                     {{"strides", I{1, 2}}}});
  EXPECT_EQ(y.values, (std::vector<double>{10.5, 1.5, 20.5, 2.5}));
}

// Without padding: 1 10 102 20 203 30 300 and a 0 for output_padding.
TEST(ConvTransposeTest, IsAsLongAsItsStridesWhereItsPaddingIsAutomatic) {
  const HostTensor x = F32({1, 1, 3}, {1, 2, 3}), w = F32({1, 1, 3}, {1, 10, 100});
  const auto run = [&](const HostTensor& weight, int64_t stride, std::string auto_pad,
                       int64_t extra) {
    return RunForNumbers({"ConvTranspose",
                          {x, weight},
                          {{"strides", I{stride}},
                           {"auto_pad", std::move(auto_pad)},
                           {"output_padding", I{extra}}}})
        .values;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(run(w, 2, "SAME_UPPER", 0), (Values{1, 10, 102, 20, 203, 30}));
  EXPECT_EQ(run(w, 2, "SAME_LOWER", 0), (Values{10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(run(w, 2, "SAME_UPPER", 1), (Values{10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(run(w, 2, "SAME_LOWER", 1), (Values{10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(run(F32({1, 1, 1}, {1}), 2, "SAME_UPPER", 0), (Values{1, 0, 2, 0, 3, 0}));
}

TEST(ConvTransposeTest, MakesTheRequestedOutputShape) {
  const HostTensor x = F32({1, 1, 3}, {1, 2, 3}), w = F32({1, 1, 3}, {1, 10, 100});
  // Without padding: 1 10 102 20 203 30 300.
  const Numbers lower =
      RunForNumbers({"ConvTranspose", {x, w}, {{"strides", I{2}}, {"output_shape", I{6}}}});
  EXPECT_EQ(lower.values, (std::vector<double>{10, 102, 20, 203, 30, 300}));
  const Numbers upper =
      RunForNumbers({"ConvTranspose",
                     {x, w},
                     {{"strides", I{2}}, {"output_shape", I{6}}, {"auto_pad", "SAME_UPPER"}}});
  EXPECT_EQ(upper.values, (std::vector<double>{1, 10, 102, 20, 203, 30}));
  // Less than the input has.
  const Numbers few =
      RunForNumbers({"ConvTranspose", {x, w}, {{"strides", I{2}}, {"output_shape", I{2}}}});
  EXPECT_EQ(few.values, (std::vector<double>{20, 203}));
}

}  // namespace
}  // namespace onnx_cudnn
