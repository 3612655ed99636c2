// Products of few rows on small_batch_conv's code: every tile and split, rows that do not fill a
// tile, every part of the formula.
#include "runtime/kernels/gemm/small_batch_matmul.h"
#include "absl/strings/str_cat.h"
#include "tests/emulator/gemm/row_product_test.h"

namespace onnx_cudnn {
namespace {

class SmallBatchMatMulCodeTest : public RowProductTest {
 protected:
  std::string Compare(double tolerance, std::string_view variant = "") {
    return RowProductTest::Compare(CompileSmallBatchMatMul, tolerance, variant);
  }
};

TEST_F(SmallBatchMatMulCodeTest, TilesAndSplits) {
  for (const char* tile : {"32x16", "32x32", "32x64", "64x16", "64x32", "64x64"}) {
    for (const int split : {1, 2, 4, 8}) {
      graph_ = Graph();
      MatMul(Input(DType::kF16, {33, 128}), 64);
      EXPECT_EQ(Compare(kHalf, absl::StrCat("tile=", tile, " split=", split)), "")
          << tile << " " << split;
    }
  }
}

TEST_F(SmallBatchMatMulCodeTest, RowsAndTypes) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const Dims& rows : {Dims{1}, Dims{31}, Dims{2, 33}, Dims{128}, Dims{3, 1, 50}}) {
      graph_ = Graph();
      Dims dims = rows;
      dims.push_back(80);
      MatMul(Input(dtype, dims), 96);
      EXPECT_EQ(Compare(dtype == DType::kF16 ? kHalf : kBrain), "")
          << NameOf(dtype) << " " << ToString(absl::MakeConstSpan(dims));
    }
  }
}

TEST_F(SmallBatchMatMulCodeTest, BiasResidualAndActivation) {
  for (const char* op : {"Relu", "Gelu", "Tanh"}) {
    graph_ = Graph();
    Value& sum =
        Add(Weights(graph_, DType::kF16, {64}), MatMul(Input(DType::kF16, {2, 20, 64}), 64));
    Value& residual = graph_.AddInput("r", sum.type());
    Append(graph_, op, {&Add(residual, sum)});
    EXPECT_EQ(Compare(kHalf), "") << op;
  }
}

TEST_F(SmallBatchMatMulCodeTest, ResidualWithoutBias) {
  Value& x = Input(DType::kBF16, {40, 48});
  Add(MatMul(x, 32), graph_.AddInput("r", Type::Tensor(DType::kBF16, {40, 32})));
  EXPECT_EQ(Compare(kBrain), "");
}

TEST_F(SmallBatchMatMulCodeTest, GemmsWithColumnsOutermostAndInnermost) {
  CompareGemms(CompileSmallBatchMatMul, DType::kF16, 96, kHalf);
}

TEST_F(SmallBatchMatMulCodeTest, RefusesTilesThatItDoesNotFill) {
  MatMul(Input(DType::kF16, {8, 48}), 32);
  for (const char* variant : {"tile=32x64 split=1", "tile=32x32 split=2"}) {
    EXPECT_EQ(CodeOf(CompileSmallBatchMatMul, variant).status().code(),
              absl::StatusCode::kUnimplemented)
        << variant;
  }
}

}  // namespace
}  // namespace onnx_cudnn
