// Products of few rows on small_batch_conv's code: every tile and split, rows that do not fill a
// tile, every part of the formula.
#include "runtime/kernels/gemm/small_batch_matmul.h"
#include "absl/strings/str_cat.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

constexpr double kHalf = 1e-3, kBrain = 8e-3;  // f16 and bf16 round to 11 and 8 bits

class SmallBatchMatMulCodeTest : public KernelsTest {
 protected:
  Value& Input(DType dtype, const Dims& dims) {
    return graph_.AddInput("x", Type::Tensor(dtype, dims));
  }
  Value& MatMul(Value& x, int64_t columns) {
    const int64_t depth = x.dim(x.rank() - 1);
    return Append(graph_, "MatMul", {&x, &Weights(graph_, x.dtype(), {depth, columns})});
  }
  Value& Add(Value& a, Value& b) { return Append(graph_, "Add", {&a, &b}); }

  // Compares the Candidate of all Nodes with the reference.
  std::string Compare(double tolerance, std::string_view variant = "") {
    const std::vector<Node*> order = graph_.TopologicalOrder();
    graph_.AddOutput("y", *order.back()->outputs()[0]);
    const Unit unit = UnitOf({order.begin(), order.end()});
    for (const Candidate& candidate : At(graph_, *order[0]).candidates) {
      if (candidate.nodes != unit.nodes) continue;
      std::vector<HostTensor> inputs;
      for (const Value* v : unit.boundary.inputs) {
        inputs.push_back(
            TensorOf(v->dtype(), v->dims(), Pattern(v->elements(), inputs.size() + 7)));
      }
      return emulator::CompareWithReference(
          CompileSmallBatchMatMul({unit, candidate, target_, variant}), candidate, inputs,
          tolerance);
    }
    return "nothing is proposed for all Nodes";
  }

  Graph graph_;
};

TEST_F(SmallBatchMatMulCodeTest, TilesAndSplits) {
  for (const char* tile : {"32x32", "32x64", "64x32", "64x64"}) {
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
  for (const int64_t transposed : {0, 1}) {
    graph_ = Graph();
    Value& x = Input(DType::kF16, {33, 128});
    const Dims dims = transposed != 0 ? Dims{96, 128} : Dims{128, 96};
    Append(graph_, "Gemm",
           {&x, &Weights(graph_, DType::kF16, dims), &Weights(graph_, DType::kF16, {96})},
           {{"transB", transposed}});
    EXPECT_EQ(Compare(kHalf), "") << transposed;
  }
}

TEST_F(SmallBatchMatMulCodeTest, RefusesTilesThatItDoesNotFill) {
  MatMul(Input(DType::kF16, {8, 48}), 32);
  const Unit unit = UnitOf({graph_.TopologicalOrder()[0]});
  graph_.AddOutput("y", *unit.nodes[0]->outputs()[0]);
  const Candidate candidate = At(graph_, *unit.nodes[0]).candidates[0];
  for (const char* variant : {"tile=32x64 split=1", "tile=32x32 split=2"}) {
    EXPECT_EQ(CompileSmallBatchMatMul({unit, candidate, target_, variant}).status().code(),
              absl::StatusCode::kUnimplemented)
        << variant;
  }
}

}  // namespace
}  // namespace onnx_cudnn
