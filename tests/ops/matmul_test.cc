#include <gtest/gtest.h>

#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

using Doubles = std::vector<double>;

// op(a)[m,k] * op(b)[k,n] by plain loops.
Doubles NaiveProduct(int64_t m, int64_t n, int64_t k, const Doubles& a, bool transpose_a,
                     const Doubles& b, bool transpose_b) {
  Doubles y(m * n, 0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        y[i * n + j] +=
            a[transpose_a ? l * m + i : i * k + l] * b[transpose_b ? j * k + l : l * n + j];
      }
    }
  }
  return y;
}

void ExpectNear(const Numbers& found, const Dims& dims, const Doubles& expected, double tolerance) {
  ASSERT_EQ(found.dims, dims);
  ASSERT_EQ(found.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found.values[i], expected[i], tolerance) << "at " << i;
}

TEST(MatMulTest, AgreesWithPlainLoops) {
  for (const auto& [m, n, k] :
       {std::tuple{1, 1, 1}, {1, 70, 33}, {65, 1, 40}, {3, 5, 7}, {97, 130, 60}, {400, 30, 20}}) {
    const Doubles a = Pattern(m * k, 1), b = Pattern(k * n, 2);
    for (DType dtype : {DType::kF32, DType::kF64}) {
      const Numbers y =
          RunForNumbers({"MatMul", {TensorOf(dtype, {m, k}, a), TensorOf(dtype, {k, n}, b)}});
      ExpectNear(y, {m, n}, NaiveProduct(m, n, k, a, false, b, false), 1e-4);
    }
  }
}

TEST(MatMulTest, BroadcastsStacks) {
  const Doubles a = Pattern(2 * 1 * 3 * 4, 1), b = Pattern(5 * 4 * 2, 2);
  const Numbers y = RunForNumbers({"MatMul", {F32({2, 1, 3, 4}, a), F32({5, 4, 2}, b)}});
  ASSERT_EQ(y.dims, (Dims{2, 5, 3, 2}));
  for (int64_t i = 0; i < 10; ++i) {
    const Doubles part_a(a.begin() + i / 5 * 12, a.begin() + (i / 5 + 1) * 12);
    const Doubles part_b(b.begin() + i % 5 * 8, b.begin() + (i % 5 + 1) * 8);
    const Numbers part = {{3, 2},
                          Doubles(y.values.begin() + i * 6, y.values.begin() + (i + 1) * 6)};
    ExpectNear(part, {3, 2}, NaiveProduct(3, 2, 4, part_a, false, part_b, false), 1e-5);
  }
}

TEST(MatMulTest, MultipliesAStackByOneMatrix) {
  const Doubles a = Pattern(3 * 2 * 4, 1), b = Pattern(4 * 5, 2);
  const Numbers y = RunForNumbers({"MatMul", {F32({3, 2, 4}, a), F32({4, 5}, b)}});
  ExpectNear(y, {3, 2, 5}, NaiveProduct(6, 5, 4, a, false, b, false), 1e-5);
}

TEST(MatMulTest, TakesVectors) {
  const HostTensor row = F32({2}, {1, 2}), matrix = F32({2, 2}, {1, 10, 100, 1000});
  ExpectNear(RunForNumbers({"MatMul", {row, row}}), {}, {5}, 0);
  ExpectNear(RunForNumbers({"MatMul", {row, matrix}}), {2}, {201, 2010}, 0);
  ExpectNear(RunForNumbers({"MatMul", {matrix, row}}), {2}, {21, 2100}, 0);
}

TEST(MatMulTest, WrapsIntegers) {
  const HostTensor a = TensorOf(DType::kI32, {1, 2}, {65536, 3}),
                   b = TensorOf(DType::kI32, {2, 1}, {65536, -2});
  EXPECT_EQ(RunForNumbers({"MatMul", {a, b}}).values, Doubles{-6});
}

TEST(MatMulTest, RoundsHalfPrecisionOnce) {
  // 2048 + 1 - 2048 in f16 would lose the 1.
  const Numbers y = RunForNumbers({"MatMul",
                                   {TensorOf(DType::kF16, {1, 3}, {2048, 1, -2048}),
                                    TensorOf(DType::kF16, {3, 1}, {1, 1, 1})}});
  EXPECT_EQ(y.values, Doubles{1});
}

TEST(MatMulTest, SumsNothingToZero) {
  const Numbers y = RunForNumbers({"MatMul", {F32({2, 0}, {}), F32({0, 3}, {})}});
  ExpectNear(y, {2, 3}, Doubles(6, 0), 0);
  EXPECT_EQ(RunForNumbers({"MatMul", {F32({0, 2, 3}, {}), F32({3, 4}, Pattern(12, 1))}}).dims,
            (Dims{0, 2, 4}));
}

TEST(MatMulTest, RefusesOtherDims) {
  EXPECT_FALSE(RunOp({"MatMul", {F32({2, 3}, Pattern(6, 1)), F32({2, 3}, Pattern(6, 1))}}).ok());
}

TEST(GemmTest, AgreesWithPlainLoops) {
  const int64_t m = 53, n = 71, k = 19;
  const Doubles a = Pattern(m * k, 1), b = Pattern(k * n, 2);
  for (int transposes = 0; transposes < 4; ++transposes) {
    const bool ta = (transposes & 1) != 0, tb = (transposes & 2) != 0;
    const Dims a_dims = ta ? Dims{k, m} : Dims{m, k}, b_dims = tb ? Dims{n, k} : Dims{k, n};
    const Attrs attrs = {{"transA", int64_t{ta}}, {"transB", int64_t{tb}}};
    ExpectNear(RunForNumbers({"Gemm", {F32(a_dims, a), F32(b_dims, b)}, attrs}), {m, n},
               NaiveProduct(m, n, k, a, ta, b, tb), 1e-4);
  }
}

TEST(GemmTest, AnswersOneRow) {
  const Doubles a = Pattern(300, 1), b = Pattern(300 * 200, 2);
  const Numbers y =
      RunForNumbers({"Gemm", {F32({1, 300}, a), F32({200, 300}, b)}, {{"transB", int64_t{1}}}});
  ExpectNear(y, {1, 200}, NaiveProduct(1, 200, 300, a, false, b, true), 1e-3);
}

TEST(GemmTest, ScalesAndBroadcastsC) {
  const HostTensor a = F32({2, 1}, {1, 2}), b = F32({1, 3}, {1, 10, 100});
  const Attrs attrs = {{"alpha", 2.0f}, {"beta", 0.5f}};
  const auto run = [&](Dims dims, const Doubles& c) {
    return RunForNumbers({"Gemm", {a, b, F32(dims, c)}, attrs}).values;
  };
  EXPECT_EQ(run({}, {2}), (Doubles{3, 21, 201, 5, 41, 401}));
  EXPECT_EQ(run({3}, {2, 4, 6}), (Doubles{3, 22, 203, 5, 42, 403}));
  EXPECT_EQ(run({2, 1}, {2, 4}), (Doubles{3, 21, 201, 6, 42, 402}));
  EXPECT_EQ(run({2, 3}, {2, 2, 2, 2, 2, 4}), (Doubles{3, 21, 201, 5, 41, 402}));
  EXPECT_FALSE(RunOp({"Gemm", {a, b, F32({2}, {1, 2})}, attrs}).ok());
}

TEST(GemmTest, TakesIntegersWithoutFactors) {
  const HostTensor a = TensorOf(DType::kI32, {2, 1}, {3, -2}),
                   b = TensorOf(DType::kI32, {2, 1}, {5, 7});
  const HostTensor c = TensorOf(DType::kI32, {1}, {100});
  EXPECT_EQ(RunForNumbers({"Gemm", {a, b, c}, {{"transB", int64_t{1}}}}).values,
            (Doubles{115, 121, 90, 86}));
  EXPECT_FALSE(RunOp({"Gemm", {a, b, c}, {{"transB", int64_t{1}}, {"alpha", 2.0f}}}).ok());
}

}  // namespace
}  // namespace onnx_cudnn
