#include "runtime/import/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/verify.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/ops/evaluate.h"
#include "tests/support/graph_text.h"

namespace onnx_cudnn {
namespace {

constexpr std::string_view kHeader =
    "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.preview.training\" : 1]>\n";
constexpr double kStep = 1e-5;  // of finite differences, in f64

std::string Text(std::string_view graph) { return absl::StrCat(kHeader, graph); }

HostTensor Doubles(Dims dims, std::vector<double> values) {
  return HostTensor::Of<double>(DType::kF64, std::move(dims), values);
}

std::vector<std::vector<double>> Computed(std::string_view graph, std::vector<HostTensor> inputs) {
  const Graph loaded = GraphFromText(Text(graph));
  EXPECT_TRUE(Verify(loaded).ok()) << Verify(loaded);
  absl::StatusOr<std::vector<HostTensor>> outputs = Evaluate(loaded, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<std::vector<double>> values;
  for (const HostTensor& output : outputs.value_or(std::vector<HostTensor>())) {
    const absl::Span<const double> data = output.data<double>();
    values.emplace_back(data.begin(), data.end());
  }
  return values;
}

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// For y = `body` over a[2,3] and b of `b_dims`, both positive: expects that Gradient with respect
// to both agrees with finite differences of the sum of y.
void ExpectGradient(std::string_view body, const std::string& b_dims, Dims b_extents) {
  SCOPED_TRACE(body);
  const std::string graph = absl::StrCat(
      "g (double[2,3] a, double", b_dims, " b) => (double[?] y, double[2,3] da, double", b_dims,
      " db) { ", body,
      " da, db = ai.onnx.preview.training.Gradient<xs = [\"a\", \"b\"], y = \"y\">(a, b) }");
  std::vector<double> a = {0.5, 1.25, 2.1, 0.75, 1.5, 3.2}, b;
  for (int64_t i = 0; i < ElementsOf(b_extents); ++i)
    b.push_back(0.4 + 0.3 * static_cast<double>(i));
  const auto run = [&] { return Computed(graph, {Doubles({2, 3}, a), Doubles(b_extents, b)}); };
  const auto found = run();
  ASSERT_EQ(found.size(), 3u);
  const auto expect = [&](std::vector<double>& variable, const std::vector<double>& gradient) {
    ASSERT_EQ(gradient.size(), variable.size());
    for (size_t i = 0; i < variable.size(); ++i) {
      const double value = variable[i];
      variable[i] = value + kStep;
      const double above = Sum(run()[0]);
      variable[i] = value - kStep;
      const double below = Sum(run()[0]);
      variable[i] = value;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-6) << i;
    }
  };
  expect(a, found[1]);
  expect(b, found[2]);
}

void ExpectRefused(std::string_view graph, absl::StatusCode code, std::string_view message) {
  const absl::Status status = TryGraphFromText(Text(graph)).status();
  EXPECT_EQ(status.code(), code);
  EXPECT_TRUE(absl::StrContains(status.message(), message)) << status;
}

TEST(GradientTest, OfASumAndAProduct) {  // y = (a + b) a
  EXPECT_EQ(Computed(R"(g (double a, double b) => (double y, double da, double db) {
                  c = Add(a, b)
                  y = Mul(c, a)
                  da, db = ai.onnx.preview.training.Gradient<xs = ["a", "b"], y = "y">(a, b) })",
                     {Doubles({}, {1}), Doubles({}, {2})}),
            (std::vector<std::vector<double>>{{3}, {4}, {1}}));
}

TEST(GradientTest, SumsOverBroadcastAxes) {
  ExpectGradient("y = Add(a, b)", "[3]", {3});
  ExpectGradient("y = Sub(b, a)", "[2,1]", {2, 1});
  ExpectGradient("y = Mul(a, b)", "[4,1,1]", {4, 1, 1});
  ExpectGradient("y = Div(a, b)", "", {});
  ExpectGradient("y = Sum(a, b, a)", "[1,3]", {1, 3});
}

TEST(GradientTest, OfElementWiseOps) {
  ExpectGradient("p = Exp(a) q = Sigmoid(b) y = Mul(p, q)", "[2,3]", {2, 3});
  ExpectGradient("p = Log(a) q = Tanh(b) y = Mul(p, q)", "[2,3]", {2, 3});
  ExpectGradient(
      "p = Sqrt(a) q = Sub(a, b) r = Relu(q) n = Neg(b) s = Abs(n) t = Sub(p, r) y = Div(t, s)",
      "[2,3]", {2, 3});
  ExpectGradient("p = Floor(a) q = Greater(a, b) r = Where(q, a, b) y = Add(p, r)", "[3]", {3});
  ExpectGradient("p = Sin(a) q = Cos(b) r = Identity(q) y = Mul(p, r)", "[2,3]", {2, 3});
  ExpectGradient("n = Constant<value = double {3}>() p = Pow(a, n) y = Mul(p, b)", "[3]", {3});
}

TEST(GradientTest, OfProductsOfMatrices) {
  ExpectGradient("y = MatMul(a, b)", "[3,4]", {3, 4});
  ExpectGradient("p = MatMul(a, b) y = Mul(p, p)", "[2,3,2]", {2, 3, 2});
}

TEST(GradientTest, OfReductionsAndShapes) {
  ExpectGradient("p = ReduceSum<keepdims = 0>(a) y = Mul(p, b)", "", {});
  ExpectGradient(
      "i = Constant<value_ints = [1]>() p = ReduceMean<keepdims = 0>(a, i) y = Mul(p, b)", "[2]",
      {2});
  ExpectGradient("p = Mul(a, b) q = ReduceMean(p) y = Mul(q, q)", "[2,3]", {2, 3});
  ExpectGradient("p = Transpose(a) y = Mul(p, b)", "[3,2]", {3, 2});
  ExpectGradient("s = Constant<value_ints = [6]>() p = Reshape(a, s) y = Mul(p, b)", "[6]", {6});
}

TEST(GradientTest, IsZeroWhereYDoesNotDependOnIt) {
  EXPECT_EQ(Computed(R"(g (double[2] a, double[2] b) => (double[2] da, double[2] db) {
                  y = Neg(a)
                  da, db = ai.onnx.preview.training.Gradient<xs = ["a", "b"], y = "y">(a, b) })",
                     {Doubles({2}, {1, 2}), Doubles({2}, {3, 4})}),
            (std::vector<std::vector<double>>{{-1, -1}, {0, 0}}));
}

TEST(GradientTest, IsZeroThroughIntegers) {  // y = int(a) a
  EXPECT_EQ(Computed(R"(g (double a) => (double y, double da) {
                       i = Cast<to = 7>(a)
                       t = Cast<to = 11>(i)
                       y = Mul(t, a)
                       da = ai.onnx.preview.training.Gradient<xs = ["a"], y = "y">(a) })",
                     {Doubles({}, {2.5})}),
            (std::vector<std::vector<double>>{{5}, {2}}));
}

// y = h a with h = a a. h is an independent variable with the value b: dy/dh = a, dy/da = b.
TEST(GradientTest, IsTakenAtTheValuesThatAreGiven) {
  EXPECT_EQ(Computed(R"(g (double a, double b) => (double dh, double da) {
                  h = Mul(a, a)
                  y = Mul(h, a)
                  dh, da = ai.onnx.preview.training.Gradient<xs = ["h", "a"], y = "y">(b, a) })",
                     {Doubles({}, {5}), Doubles({}, {7})}),
            (std::vector<std::vector<double>>{{5}, {7}}));
}

TEST(GradientTest, DistinguishesVariablesWithOneValue) {  // d(a b)/da at a = b = 3
  EXPECT_EQ(Computed(R"(g (double a, double b) => (double da) {
                  y = Mul(a, b)
                  da = ai.onnx.preview.training.Gradient<xs = ["a"], zs = ["b"], y = "y">(a, a) })",
                     {Doubles({}, {3}), Doubles({}, {100})}),
            (std::vector<std::vector<double>>{{3}}));
}

TEST(GradientTest, OfAGradient) {  // a cubed: 3 a a, then 6 a; the nodes stand in any order
  EXPECT_EQ(Computed(R"(g (double a) => (double da, double dda) {
                  dda = ai.onnx.preview.training.Gradient<xs = ["a"], y = "da">(a)
                  da = ai.onnx.preview.training.Gradient<xs = ["a"], y = "y">(a)
                  s = Mul(a, a)
                  y = Mul(s, a) })",
                     {Doubles({}, {2})}),
            (std::vector<std::vector<double>>{{12}, {12}}));
}

TEST(GradientTest, OfTheGradientOfAReduction) {  // mean(a a): 2 a / 2, then 1
  EXPECT_EQ(Computed(R"(g (double[2] a) => (double[2] da, double[2] dda) {
                       s = Mul(a, a)
                       y = ReduceMean(s)
                       da = ai.onnx.preview.training.Gradient<xs = ["a"], y = "y">(a)
                       dda = ai.onnx.preview.training.Gradient<xs = ["a"], y = "da">(a) })",
                     {Doubles({2}, {3, 4})}),
            (std::vector<std::vector<double>>{{3, 4}, {1, 1}}));
}

TEST(GradientTest, RefusesWhatHasNoRule) {
  ExpectRefused(R"(g (float[2] a) => (float[2] da) {
      y = Softmax(a)
      da = ai.onnx.preview.training.Gradient<xs = ["a"], y = "y">(a) })",
                absl::StatusCode::kUnimplemented,
                "node (Gradient): Softmax (opset 21) on f32: its gradient is not implemented");
  ExpectRefused(R"(g (float[2] a) => (float[2] da) {
      t, u = Split<num_outputs = 2>(a)
      y = Mul(t, u)
      da = ai.onnx.preview.training.Gradient<xs = ["a"], y = "y">(a) })",
                absl::StatusCode::kUnimplemented, "the gradient of its output 1");
  ExpectRefused(R"(g (float[N] a, float[M] b) => (float[N] da) {
      y = Add(a, b)
      da = ai.onnx.preview.training.Gradient<xs = ["a"], zs = ["b"], y = "y">(a, b) })",
                absl::StatusCode::kUnimplemented, "was broadcast");
}

TEST(GradientTest, RefusesAWrongNode) {
  const auto expect = [](std::string_view attributes, std::string_view inputs,
                         std::string_view message) {
    ExpectRefused(absl::StrCat("g (float a, int64 n) => (float da) { y = Neg(a) da = "
                               "ai.onnx.preview.training.Gradient<",
                               attributes, ">(", inputs, ") }"),
                  absl::StatusCode::kInvalidArgument, message);
  };
  expect("xs = [\"a\"]", "a", "attribute \"y\" is missing");
  expect("xs = [\"a\"], y = \"none\"", "a", "reads \"none\", which nothing defines");
  expect("xs = [\"a\"], y = \"\"", "a", "xs, zs or y holds an empty name");
  expect("xs = [\"a\", \"\"], y = \"y\"", "a, a", "xs, zs or y holds an empty name");
  expect("xs = [\"a\", \"a\"], y = \"y\"", "a", "has 1 inputs, xs and zs name 2");
  expect("xs = [\"a\"], zs = [\"a\"], y = \"y\"", "a, a", "xs and zs name \"a\" twice");
  expect("xs = [\"a\"], y = \"n\"", "a", "y is i64[], expected a tensor of floats");
  expect("xs = [\"a\"], y = \"da\"", "a", "cycle");
}

// Each derivative has several times as many nodes as the one before.
TEST(GradientTest, IsNotTakenInABody) {
  ExpectRefused(R"(g (bool c, float a) => (float da) {
      da = If(c) <
          then_branch = t () => (float p) {
            y = Neg(a)
            p = ai.onnx.preview.training.Gradient<xs = ["a"], y = "y">(a) },
          else_branch = e () => (float q) { q = Neg(a) }> })",
                absl::StatusCode::kUnimplemented,
                "ai.onnx.preview.training.Gradient (opset 1) on f32: the op is not implemented");
}

TEST(GradientTest, StopsBeforeItFillsMemory) {
  std::string nodes = "d0 = Tanh(a) ";
  for (int i = 1; i < 100; ++i) {
    absl::StrAppend(&nodes, "d", i, " = ai.onnx.preview.training.Gradient<xs = [\"a\"], y = \"d",
                    i - 1, "\">(a) ");
  }
  const std::string bytes =
      ModelBytesFromText(Text(absl::StrCat("g (float a) => (float d99) { ", nodes, "}"))).value();
  const absl::Status status = LoadModelBytes(bytes, {.limits = {.nodes = 1000}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(absl::StrContains(status.message(), "take more nodes than the limit")) << status;
}

}  // namespace
}  // namespace onnx_cudnn
