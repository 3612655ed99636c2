// Products with few rows: every type, number of rows and number of rounds over the depth.
#include "absl/strings/str_cat.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

// The numbers of Pattern and their sums are exact, so that results are equal, bit by bit.
class GemvCodeTest : public KernelsTest {
 protected:
  Value& Input(DType dtype, const Dims& dims) {
    return graph_.AddInput("x", Type::Tensor(dtype, dims));
  }
  Value& Cast(Value& v, DType to) {
    return Append(graph_, "Cast", {&v}, {{"to", static_cast<int64_t>(to)}});
  }
  // x · wᵀ + bias
  Value& Gemm(Value& x, int64_t columns) {
    Value& w = Weights(graph_, x.dtype(), {columns, x.dim(1)});
    return Append(graph_, "Gemm", {&x, &w, &Weights(graph_, x.dtype(), {columns})},
                  {{"transB", int64_t{1}}});
  }

  // Compares the Candidate of all Nodes with the reference, on `x`.
  std::string Compare(const std::vector<double>& x, int multiprocessors = 132) {
    const std::vector<Node*> order = graph_.TopologicalOrder();
    graph_.AddOutput("y", *order.back()->outputs()[0]);
    const Unit unit = UnitOf({order.begin(), order.end()});
    Target target = target_;
    target.info.multiprocessors = multiprocessors;
    for (const Node* node : order) {
      if (node->op() != "Gemm" && node->op() != "MatMul") continue;
      for (const Candidate& candidate : At(graph_, *node).candidates) {
        if (candidate.nodes != unit.nodes) continue;
        const Value& input = *unit.boundary.inputs[0];
        return emulator::CompareWithReference(CompileGemv({unit, candidate, target, ""}), candidate,
                                              {TensorOf(input.dtype(), input.dims(), x)}, 0);
      }
    }
    return "nothing is proposed for all Nodes";
  }
  std::string Compare(int multiprocessors = 132) {
    return Compare(Pattern(graph_.inputs()[0]->elements(), 7), multiprocessors);
  }

  Graph graph_;
};

TEST_F(GemvCodeTest, RowsAndTypes) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 8}) {
      graph_ = Graph();
      Gemm(Input(dtype, {rows, 72}), 11);
      EXPECT_EQ(Compare(), "") << NameOf(dtype) << " " << rows;
    }
  }
}

TEST_F(GemvCodeTest, SeveralRoundsOverTheDepth) {
  for (const int64_t rows : {1, 8}) {
    for (const int multiprocessors : {1, 132}) {  // blocks of eight warps, or of nine
      graph_ = Graph();
      Gemm(Input(DType::kF16, {rows, 4104}), 9);
      EXPECT_EQ(Compare(multiprocessors), "") << rows << " " << multiprocessors;
    }
  }
}

TEST_F(GemvCodeTest, ColumnsInnermost) {
  Value& x = Input(DType::kBF16, {2, 1, 40});
  Append(graph_, "MatMul", {&x, &Weights(graph_, DType::kBF16, {40, 17})});
  EXPECT_EQ(Compare(), "");
}

TEST_F(GemvCodeTest, OneRowWithoutItsDim) {
  Value& x = Input(DType::kF32, {12});
  Append(graph_, "MatMul", {&x, &Weights(graph_, DType::kF32, {12, 3})});
  EXPECT_EQ(Compare(), "");
}

TEST_F(GemvCodeTest, CastBiasReluAndCast) {  // the bias is added to a product that is rounded
  Value& x = Cast(Input(DType::kF32, {1, 3, 264}), DType::kF16);
  Value& product = Append(graph_, "MatMul", {&x, &Weights(graph_, DType::kF16, {264, 10})});
  Value& sum = Append(graph_, "Add", {&Weights(graph_, DType::kF16, {10}), &product});
  Cast(Append(graph_, "Relu", {&sum}), DType::kF32);
  EXPECT_EQ(Compare(), "");
}

TEST_F(GemvCodeTest, WritesOtherTypes) {
  for (const DType to : {DType::kF16, DType::kBF16}) {
    graph_ = Graph();
    Cast(Gemm(Input(DType::kF32, {2, 8}), 4), to);
    EXPECT_EQ(Compare(), "") << NameOf(to);
  }
}

// Every other element is 1 + 2^-12, which is 1 in f16: Σ ± x is 0, and not 2^-9.
TEST_F(GemvCodeTest, RoundsRowsBeforeTheProduct) {
  std::vector<double> rows, signs;
  for (int i = 0; i < 8; ++i) {
    rows.insert(rows.end(), {1 + 0x1p-12, 1.0});
    signs.insert(signs.end(), {1.0, -1.0});
  }
  Value& x = Cast(Input(DType::kF32, {1, 16}), DType::kF16);
  Append(graph_, "MatMul", {&x, &graph_.AddConstant(TensorOf(DType::kF16, {16, 1}, signs))});
  EXPECT_EQ(Compare(rows), "");
}

}  // namespace
}  // namespace onnx_cudnn
