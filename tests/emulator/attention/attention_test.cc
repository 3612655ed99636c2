// Attention as one launch: every type, head and mask, with the ops before the first product.
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/emulator/run_code.h"
#include "tests/kernels/kernels_fixture.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

// The references round scores and probabilities to the type; the kernel does not.
double ToleranceOf(DType dtype) {
  if (dtype == DType::kF32) return 2e-5;
  return dtype == DType::kF16 ? 3e-3 : 2.5e-2;
}

struct Shape {
  Dims heads;
  int64_t queries, keys, depth, columns;

  Dims Of(int64_t rows, int64_t columns_of_it) const {
    Dims dims = heads;
    dims.insert(dims.end(), {rows, columns_of_it});
    return dims;
  }
  std::string ToString() const {
    return absl::StrCat(heads.size(), " ", queries, " ", keys, " ", depth, " ", columns);
  }
};

// Fewer keys than a warp has lanes, more keys, and several rounds; columns of y that share a warp,
// that fill it, and that need several passes; heads that are not a multiple of 16 bytes.
std::vector<Shape> Shapes() {
  return {{{1, 2}, 9, 7, 8, 15},    {{1, 3}, 40, 40, 15, 15}, {{2, 1}, 3, 130, 40, 24},
          {{1, 2}, 17, 33, 5, 1},   {{2}, 5, 64, 16, 40},     {{2, 1, 2}, 4, 1, 3, 2},
          {{1, 1}, 2, 200, 30, 70}, {{1, 1}, 3, 1100, 4, 3},  {{1, 1}, 2, 40, 200, 180}};
}

class AttentionCodeTest : public KernelsTest {
 protected:
  void Start(DType dtype, Shape shape) {
    graph_ = Graph();
    mask_.clear();
    dtype_ = dtype;
    shape_ = std::move(shape);
  }
  Value& Input(std::string_view name, const Dims& dims) {
    return graph_.AddInput(name, Type::Tensor(dtype_, dims));
  }
  Value& Number(double number) { return graph_.AddConstant(TensorOf(dtype_, {}, {number})); }
  Value& Op(std::string op, std::vector<Value*> inputs) {
    return Append(graph_, std::move(op), std::move(inputs));
  }
  Value& Cast(Value& v, DType to) {
    return Append(graph_, "Cast", {&v}, {{"to", static_cast<int64_t>(to)}});
  }

  Value& Queries() { return Input("q", shape_.Of(shape_.queries, shape_.depth)); }
  // As columns, or as rows followed by a Transpose.
  Value& Keys(bool are_rows) {
    if (!are_rows) return Input("k", shape_.Of(shape_.depth, shape_.keys));
    Value& k = Input("k", shape_.Of(shape_.keys, shape_.depth));
    std::vector<int64_t> perm(k.rank());
    for (int i = 0; i < k.rank(); ++i) perm[i] = i;
    std::swap(perm[k.rank() - 2], perm[k.rank() - 1]);
    return Append(graph_, "Transpose", {&k}, {{"perm", perm}});
  }
  // Scores of queries that are small enough for 16-bit floats.
  Value& Scores(bool keys_are_rows = false) {
    Value& q = Op("Mul", {&Queries(), &Number(0.258)});
    return Op("MatMul", {&q, &Keys(keys_are_rows)});
  }

  std::string CompareSoftmax(Value& scores, int multiprocessors = 132) {
    return Compare(Op("Softmax", {&scores}), multiprocessors);
  }
  // Compares the Candidate of all Nodes with the reference, on Patterns.
  std::string Compare(Value& probabilities, int multiprocessors = 132) {
    Value& v = Input("v", shape_.Of(shape_.keys, shape_.columns));
    graph_.AddOutput("y", Op("MatMul", {&probabilities, &v}));
    Target target = target_;
    target.info.multiprocessors = multiprocessors;
    for (const Candidate& candidate : At(graph_, "Softmax").candidates) {
      if (candidate.nodes.size() != graph_.TopologicalOrder().size()) continue;
      const Unit unit = UnitOf(candidate.nodes);
      std::vector<HostTensor> inputs;
      for (const Value* input : unit.boundary.inputs) {
        const auto seed = static_cast<uint32_t>(inputs.size()) + 1;
        const bool is_mask = input->name() == "m" && !mask_.empty();
        inputs.push_back(TensorOf(input->dtype(), input->dims(),
                                  is_mask ? mask_ : Pattern(input->elements(), seed)));
      }
      return emulator::CompareWithReference(CompileAttention({unit, candidate, target, ""}),
                                            candidate, inputs, ToleranceOf(dtype_));
    }
    return "nothing is proposed for all Nodes";
  }

  Graph graph_;
  DType dtype_ = DType::kF32;
  Shape shape_;
  std::vector<double> mask_;  // numbers of the input "m"; empty: a Pattern
};

TEST_F(AttentionCodeTest, ShapesAndTypes) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Shape& shape : Shapes()) {
      for (const bool keys_are_rows : {false, true}) {
        Start(dtype, shape);
        EXPECT_EQ(CompareSoftmax(Scores(keys_are_rows)), "")
            << NameOf(dtype) << " " << shape.ToString() << " " << keys_are_rows;
      }
    }
  }
}

TEST_F(AttentionCodeTest, NothingButTheProducts) {
  for (const Shape& shape : Shapes()) {
    Start(DType::kF32, shape);
    EXPECT_EQ(CompareSoftmax(Op("MatMul", {&Queries(), &Keys(false)})), "") << shape.ToString();
  }
}

// A warp processes four queries at once if that leaves no multiprocessor idle.
TEST_F(AttentionCodeTest, ManyQueries) {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    for (const Shape& shape : Shapes()) {
      for (const bool keys_are_rows : {false, true}) {
        Start(dtype, shape);
        Value& m = Input("m", {shape.queries, shape.keys});
        Value& scores = Op("Add", {&Scores(keys_are_rows), &m});
        EXPECT_EQ(CompareSoftmax(scores, /*multiprocessors=*/1), "")
            << NameOf(dtype) << " " << shape.ToString() << " " << keys_are_rows;
      }
    }
  }
}

TEST_F(AttentionCodeTest, FactorsAndDivisors) {
  const Shape shape = {{2, 2}, 5, 40, 15, 15};
  Start(DType::kF32, shape);
  EXPECT_EQ(CompareSoftmax(Op("Div", {&Scores(), &Number(0.5)})), "");
  Start(DType::kF32, shape);
  EXPECT_EQ(CompareSoftmax(Op("Mul", {&Number(-1.5), &Scores()})), "");
  Start(DType::kF16, shape);
  Value& k = Op("Mul", {&Keys(true), &Number(0.5)});
  Value& q = Op("Div", {&Queries(), &Number(4)});
  Value& scores = Op("Mul", {&Op("MatMul", {&q, &k}), &Number(2)});
  EXPECT_EQ(CompareSoftmax(Op("Mul", {&scores, &Number(0.25)})), "");
}

TEST_F(AttentionCodeTest, Masks) {
  const Shape shape = {{2, 3}, 5, 40, 15, 15};
  for (const Dims& dims : {Dims{}, Dims{40}, Dims{5, 1}, Dims{5, 40}, Dims{3, 1, 40},
                           Dims{2, 1, 1, 40}, Dims{1, 3, 5, 1}, Dims{2, 3, 5, 40}}) {
    Start(DType::kF16, shape);
    Value& m = Input("m", dims);
    EXPECT_EQ(CompareSoftmax(Op("Add", {&Scores(), &m})), "")
        << ToString(absl::MakeConstSpan(dims));
    Start(DType::kF32, shape);
    Value& w = Weights(graph_, DType::kF32, dims);
    EXPECT_EQ(CompareSoftmax(Op("Add", {&w, &Scores()})), "")
        << ToString(absl::MakeConstSpan(dims));
  }
}

// The mask's numbers are so large that 16-bit floats could not tell the sums with scores apart.
TEST_F(AttentionCodeTest, MasksOfF32) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const int multiprocessors : {132, 1}) {
      Start(dtype, {{2, 3}, 5, 40, 15, 15});
      Value& m = graph_.AddInput("m", Type::Tensor(DType::kF32, {2, 1, 5, 40}));
      for (int64_t i = 0; i < m.elements(); ++i) mask_.push_back(i % 200 < 120 ? -1e4 : i % 3);
      Value& masked = Op("Add", {&Cast(Scores(), DType::kF32), &m});
      EXPECT_EQ(Compare(Cast(Op("Softmax", {&masked}), dtype), multiprocessors), "")
          << NameOf(dtype);
    }
  }
}

// Keys that are masked for a query; for the last query all are, and its row is NaN.
TEST_F(AttentionCodeTest, MaskedKeys) {
  Start(DType::kF32, {{1, 2}, 4, 40, 15, 15});
  Value& m = Input("m", {4, 40});
  for (int64_t i = 0; i < m.elements(); ++i) {
    const bool is_seen = i / 40 < 3 && i % 40 <= 13 * (i / 40);
    mask_.push_back(is_seen ? 0 : -std::numeric_limits<double>::infinity());
  }
  EXPECT_EQ(CompareSoftmax(Op("Add", {&Scores(), &m})), "");
}

TEST_F(AttentionCodeTest, SoftmaxBetweenCasts) {
  Start(DType::kF16, {{1, 2}, 5, 40, 15, 15});
  Value& softmax = Op("Softmax", {&Cast(Scores(), DType::kF32)});
  EXPECT_EQ(Compare(Cast(softmax, DType::kF16)), "");
}

TEST_F(AttentionCodeTest, ScoresWithOverflowingExponentials) {  // the scores are exact
  Start(DType::kF32, {{1, 2}, 5, 40, 15, 15});
  Value& scores = Op("MatMul", {&Queries(), &Keys(false)});
  EXPECT_EQ(CompareSoftmax(Op("Mul", {&scores, &Number(64)})), "");
}

}  // namespace
}  // namespace onnx_cudnn
