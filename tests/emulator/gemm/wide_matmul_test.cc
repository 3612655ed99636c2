// Products of many rows on conv_gemm's code: every tile, rows that do not fill a tile, Gelu in the
// epilogue.
#include "runtime/kernels/gemm/wide_matmul.h"
#include "absl/strings/str_cat.h"
#include "tests/emulator/gemm/row_product_test.h"

namespace onnx_cudnn {
namespace {

class WideMatMulCodeTest : public RowProductTest {
 protected:
  std::string Compare(double tolerance, std::string_view variant = "",
                      const std::vector<double>& x = {}) {
    return RowProductTest::Compare(CompileWideMatMul, tolerance, variant, x);
  }
};

constexpr const char* kWideTiles[] = {"256x128", "192x128", "128x128 ping-pong",
                                      "256x64 ping-pong"};

TEST_F(WideMatMulCodeTest, GeluInEveryWideTile) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const char* tile : kWideTiles) {
      graph_ = Graph();
      Value& sum = Add(MatMul(Input(dtype, {300, 128}), 256), Weights(graph_, dtype, {256}));
      Append(graph_, "Gelu", {&sum});
      EXPECT_EQ(Compare(dtype == DType::kF16 ? kHalf : kBrain, absl::StrCat("tile=", tile)), "")
          << NameOf(dtype) << " " << tile;
    }
  }
}

// Numbers from −12 to 12, one a row, by the identity.
TEST_F(WideMatMulCodeTest, GeluOfLargeAndSmallNumbers) {
  std::vector<double> numbers, identity(64 * 64);
  for (int i = 0; i < 64 * 64; ++i) {
    numbers.push_back(i % 64 == 0 ? -12 + 24.0 * i / (64 * 64) : 0);
    identity[i] = i % 65 == 0 ? 1 : 0;
  }
  Value& x = Input(DType::kF16, {64, 64});
  Value& w = graph_.AddConstant(TensorOf(DType::kF16, {64, 64}, identity));
  Append(graph_, "Gelu", {&Append(graph_, "MatMul", {&x, &w})});
  EXPECT_EQ(Compare(kHalf, "", numbers), "");
}

TEST_F(WideMatMulCodeTest, RowsThatDoNotFillATile) {
  for (const Dims& rows : {Dims{1}, Dims{2, 129}, Dims{256}}) {
    graph_ = Graph();
    Dims dims = rows;
    dims.push_back(64);
    Append(graph_, "Gelu", {&MatMul(Input(DType::kF16, dims), 64)});
    EXPECT_EQ(Compare(kHalf), "") << ToString(absl::MakeConstSpan(dims));
  }
}

TEST_F(WideMatMulCodeTest, BiasResidualAndReluInEveryTile) {
  for (const char* tile : {"128x256", "128x128", "128x64", "256x128", "192x128",
                           "128x128 ping-pong", "256x64 ping-pong"}) {
    graph_ = Graph();
    Value& sum =
        Add(Weights(graph_, DType::kF16, {256}), MatMul(Input(DType::kF16, {2, 70, 192}), 256));
    Append(graph_, "Relu", {&Add(graph_.AddInput("r", sum.type()), sum)});
    EXPECT_EQ(Compare(kHalf, absl::StrCat("tile=", tile)), "") << tile;
  }
}

TEST_F(WideMatMulCodeTest, GemmsWithColumnsOutermostAndInnermost) {
  CompareGemms(CompileWideMatMul, DType::kBF16, 192, kBrain);
}

TEST_F(WideMatMulCodeTest, GeluHasNoNarrowTiles) {
  Append(graph_, "Gelu", {&MatMul(Input(DType::kF16, {64, 64}), 128)});
  EXPECT_EQ(CodeOf(CompileWideMatMul, "tile=128x128").status().code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace onnx_cudnn
