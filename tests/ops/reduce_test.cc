#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using I = std::vector<int64_t>;
using Doubles = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Op {
  const char* name;
  std::function<double(const Doubles&)> of;
};

double Fold(const Doubles& x, double start, const std::function<double(double, double)>& f) {
  for (double v : x) start = f(start, v);
  return start;
}

const std::vector<Op>& Ops() {
  static const auto& ops = *new std::vector<Op>{
      {"ReduceSum",
       [](const Doubles& x) { return Fold(x, 0, [](double s, double v) { return s + v; }); }},
      {"ReduceMean",
       [](const Doubles& x) {
         return Fold(x, 0, [](double s, double v) { return s + v; }) / x.size();
       }},
      {"ReduceMax",
       [](const Doubles& x) {
         return Fold(x, -kInfinity, [](double s, double v) { return std::max(s, v); });
       }},
      {"ReduceMin",
       [](const Doubles& x) {
         return Fold(x, kInfinity, [](double s, double v) { return std::min(s, v); });
       }},
      {"ReduceL1",
       [](const Doubles& x) {
         return Fold(x, 0, [](double s, double v) { return s + std::abs(v); });
       }},
      {"ReduceL2",
       [](const Doubles& x) {
         return std::sqrt(Fold(x, 0, [](double s, double v) { return s + v * v; }));
       }},
      {"ReduceSumSquare",
       [](const Doubles& x) { return Fold(x, 0, [](double s, double v) { return s + v * v; }); }},
      {"ReduceLogSumExp",
       [](const Doubles& x) {
         return std::log(Fold(x, 0, [](double s, double v) { return s + std::exp(v); }));
       }},
  };
  return ops;
}

// The values that are reduced to each output of a reduction of x[dims], in order.
std::vector<Doubles> Groups(const Dims& dims, const I& axes, const Doubles& x) {
  I step(dims.size(), 0);
  int64_t outputs = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end()) continue;
    step[i] = outputs;
    outputs *= dims[i];
  }
  std::vector<Doubles> groups(outputs);
  for (size_t at = 0; at < x.size(); ++at) {
    int64_t rest = static_cast<int64_t>(at), output = 0;
    for (size_t i = dims.size(); i-- > 0;) {
      output += rest % dims[i] * step[i];
      rest /= dims[i];
    }
    groups[output].push_back(x[at]);
  }
  return groups;
}

TEST(ReduceTest, AgreesWithPlainLoops) {
  const Dims dims = {3, 4, 5, 37};
  const Doubles x = Pattern(ElementsOf(dims), 1);
  for (const I& axes : {I{3}, I{0}, I{1}, I{2, 3}, I{0, 2}, I{1, 3}, I{0, 1, 2, 3}}) {
    const std::vector<Doubles> groups = Groups(dims, axes, x);
    for (const Op& op : Ops()) {
      for (DType dtype : {DType::kF32, DType::kF64}) {
        const Numbers y =
            RunForNumbers({op.name, {TensorOf(dtype, dims, x), HostTensor::Ints(axes)}});
        ASSERT_EQ(y.values.size(), groups.size());
        for (size_t i = 0; i < groups.size(); ++i) {
          const double expected = op.of(groups[i]);
          ASSERT_NEAR(y.values[i], expected, 1e-5 * (1 + std::abs(expected)))
              << op.name << " at " << i;
        }
      }
    }
  }
}

TEST(ReduceTest, KeepsOrDropsDims) {
  const HostTensor x = F32({2, 3}, {1, 2, 3, 4, 5, 6}), axes = HostTensor::Ints({-1});
  EXPECT_EQ(RunForNumbers({"ReduceSum", {x, axes}}).dims, (Dims{2, 1}));
  EXPECT_EQ(RunForNumbers({"ReduceSum", {x, axes}, {{"keepdims", int64_t{0}}}}).dims, (Dims{2}));
  EXPECT_EQ(RunForNumbers({"ReduceSum", {x}, {{"keepdims", int64_t{0}}}}).values, Doubles{21});
}

TEST(ReduceTest, KeepsEveryElementWhenAskedForNoAxes) {
  const Attrs noop = {{"noop_with_empty_axes", int64_t{1}}};
  const HostTensor x = F32({2}, {-2, 3});
  EXPECT_EQ(RunForNumbers({"ReduceSum", {x, HostTensor::Ints({})}, noop}).values, (Doubles{-2, 3}));
  EXPECT_EQ(RunForNumbers({"ReduceSumSquare", {x}, noop}).values, (Doubles{4, 9}));
}

TEST(ReduceTest, AnswersTheNeutralElementOfNothing) {
  const HostTensor x = F32({2, 0}, {}), axes = HostTensor::Ints({1});
  const auto run = [&](const char* op) { return RunForNumbers({op, {x, axes}}).values; };
  EXPECT_EQ(run("ReduceSum"), (Doubles{0, 0}));
  EXPECT_EQ(run("ReduceProd"), (Doubles{1, 1}));
  EXPECT_EQ(run("ReduceMax"), (Doubles{-kInfinity, -kInfinity}));
  EXPECT_EQ(run("ReduceMin"), (Doubles{kInfinity, kInfinity}));
  EXPECT_EQ(run("ReduceLogSum"), (Doubles{-kInfinity, -kInfinity}));
  EXPECT_EQ(run("ReduceLogSumExp"), (Doubles{-kInfinity, -kInfinity}));
  EXPECT_TRUE(std::isnan(run("ReduceMean")[0]));
}

TEST(ReduceTest, TakesIntegersAndBools) {
  const auto ints = [](DType dtype, const Doubles& v) {
    return TensorOf(dtype, {static_cast<int64_t>(v.size())}, v);
  };
  EXPECT_EQ(RunForNumbers({"ReduceSum", {ints(DType::kI32, {2147483647, 1})}}).values,
            Doubles{-2147483648.0});
  EXPECT_EQ(RunForNumbers({"ReduceProd", {ints(DType::kI64, {3, -5, 7})}}).values, Doubles{-105});
  EXPECT_EQ(RunForNumbers({"ReduceMean", {ints(DType::kI32, {3, 4, -14})}}).values, Doubles{-2});
  EXPECT_EQ(RunForNumbers({"ReduceL1", {ints(DType::kI64, {3, -5})}}).values, Doubles{8});
  EXPECT_EQ(RunForNumbers({"ReduceMax", {ints(DType::kI8, {-3, -5})}}).values, Doubles{-3});
  EXPECT_EQ(RunForNumbers({"ReduceMin", {ints(DType::kBool, {1, 0, 1})}}).values, Doubles{0});
  EXPECT_EQ(RunForNumbers({"ReduceMax", {ints(DType::kBool, {1, 0, 1})}}).values, Doubles{1});
  EXPECT_FALSE(RunOp({"ReduceMean", {TensorOf(DType::kI32, {0}, {})}}).ok());
}

TEST(ReduceTest, HandlesInfinitiesInLogSumExp) {
  EXPECT_EQ(RunForNumbers({"ReduceLogSumExp", {F32({2}, {-kInfinity, -kInfinity})}}).values,
            Doubles{-kInfinity});
  EXPECT_EQ(RunForNumbers({"ReduceLogSumExp", {F32({2}, {kInfinity, 1})}}).values,
            Doubles{kInfinity});
  EXPECT_NEAR(RunForNumbers({"ReduceLogSumExp", {F32({2}, {1000, 1000})}}).values[0],
              1000 + std::log(2.0), 1e-3);
}

TEST(ReduceTest, RefusesAxesOutsideTheRank) {
  EXPECT_FALSE(RunOp({"ReduceSum", {F32({2}, {1, 2}), HostTensor::Ints({1})}}).ok());
}

TEST(ArgMaxTest, FindsTheFirstOrTheLast) {
  const HostTensor x = F32({2, 3}, {1, 5, 5, 7, 7, 2});
  const auto run = [&](const char* op, int64_t axis, int64_t last) {
    return RunForNumbers({op, {x}, {{"axis", axis}, {"select_last_index", last}}}).values;
  };
  EXPECT_EQ(run("ArgMax", 1, 0), (Doubles{1, 0}));
  EXPECT_EQ(run("ArgMax", -1, 1), (Doubles{2, 1}));
  EXPECT_EQ(run("ArgMin", 0, 0), (Doubles{0, 0, 1}));
  EXPECT_EQ(RunForNumbers({"ArgMax", {x}, {{"keepdims", int64_t{0}}}}).dims, (Dims{3}));
  EXPECT_FALSE(RunOp({"ArgMax", {F32({0, 2}, {})}}).ok());
}

TEST(TopKTest, SortsTheBest) {
  const HostTensor x = F32({2, 4}, {3, 1, 3, 2, 0, 9, 8, 9}), k = HostTensor::Ints({3});
  const auto run = [&](const Attrs& attrs, const HostTensor& count) {
    const auto results = RunOp({"TopK", {x, count}, attrs, 2});
    EXPECT_TRUE(results.ok()) << results.status();
    return std::pair(NumbersOf((*results)[0]).values, NumbersOf((*results)[1]).values);
  };
  EXPECT_EQ(run({}, k), std::pair(Doubles({3, 3, 2, 9, 9, 8}), Doubles({0, 2, 3, 1, 3, 2})));
  EXPECT_EQ(run({{"largest", int64_t{0}}}, k),
            std::pair(Doubles({1, 2, 3, 0, 8, 9}), Doubles({1, 3, 0, 0, 2, 1})));
  EXPECT_EQ(run({{"axis", int64_t{0}}}, HostTensor::Ints({1})),
            std::pair(Doubles({3, 9, 8, 9}), Doubles({0, 1, 1, 1})));
}

TEST(TopKTest, RefusesMoreThanThereAre) {
  EXPECT_FALSE(RunOp({"TopK", {F32({2}, {1, 2}), HostTensor::Ints({3})}, {}, 2}).ok());
}

}  // namespace
}  // namespace onnx_cudnn
