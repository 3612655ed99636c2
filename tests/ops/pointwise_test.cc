#include "runtime/ops/pointwise.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/ops/op_table.h"
#include "tests/ops/run_op.h"

namespace onnx_cudnn {
namespace {

// The bound expression's primitives of a Node with `inputs` inputs.
std::vector<Primitive> Bound(std::string_view op, int inputs, Attrs attrs = {}) {
  Graph graph;
  NodeSpec spec{.op = std::string(op), .attrs = std::move(attrs)};
  for (int i = 0; i < inputs; ++i)
    spec.inputs.push_back(&graph.AddInput("x", Type::Tensor(DType::kF32, {})));
  const Expression bound = BindPointwise(*FindPointwise(op), graph.AddNode(std::move(spec)));
  std::vector<Primitive> primitives;
  for (const Term& term : bound.terms()) primitives.push_back(term.primitive);
  return primitives;
}

using P = Primitive;

TEST(BindPointwiseTest, DecidesWhatIsKnownAndDropsTheRest) {
  EXPECT_EQ(Bound("Clip", 1), (std::vector<P>{P::kInput}));
  EXPECT_EQ(Bound("Clip", 2), (std::vector<P>{P::kInput, P::kInput, P::kMax}));
  EXPECT_EQ(Bound("Mod", 2), (std::vector<P>{P::kInput, P::kInput, P::kFloorMod}));
  EXPECT_EQ(Bound("Mod", 2, {{"fmod", int64_t{1}}}),
            (std::vector<P>{P::kInput, P::kInput, P::kTruncMod}));
  const std::vector<P> exact = Bound("Gelu", 1);
  EXPECT_NE(std::find(exact.begin(), exact.end(), P::kErf), exact.end());
  EXPECT_EQ(std::find(exact.begin(), exact.end(), P::kTanh), exact.end());
}

TEST(BindPointwiseTest, WritesFoldsOut) {
  EXPECT_EQ(Bound("Max", 1), (std::vector<P>{P::kInput}));
  EXPECT_EQ(Bound("Max", 3), (std::vector<P>{P::kInput, P::kInput, P::kMax, P::kInput, P::kMax}));
  EXPECT_EQ(Bound("Mean", 2),
            (std::vector<P>{P::kInput, P::kInput, P::kAdd, P::kConstant, P::kDiv}));
}

TEST(BindPointwiseTest, NoTermStandsTwiceAndArgumentsComeFirst) {
  for (const OpDef* op : AllOps()) {
    const PointwiseRow* row = FindPointwise(op->type);
    if (row == nullptr) continue;
    const std::vector<Term>& terms = row->expression.terms();
    for (size_t t = 0; t < terms.size(); ++t) {
      for (int i = 0; i < ArityOf(terms[t].primitive); ++i)
        EXPECT_LT(terms[t].args[i], static_cast<int>(t)) << row->op;
      EXPECT_EQ(std::count(terms.begin(), terms.end(), terms[t]), 1) << row->op;
    }
  }
}

TEST(ComputeTypeTest, HoldsEveryInput) {
  const Expression sum = FindPointwise("Add")->expression;
  const auto type = [&](DType a, DType b) { return ComputeTypeOf(sum, {a, b}); };
  EXPECT_EQ(type(DType::kF16, DType::kF16), DType::kF32);
  EXPECT_EQ(type(DType::kF32, DType::kI64), DType::kF64);
  EXPECT_EQ(type(DType::kF32, DType::kI16), DType::kF32);
  EXPECT_EQ(type(DType::kF64, DType::kF32), DType::kF64);
  EXPECT_EQ(type(DType::kU32, DType::kU32), DType::kI64);
  EXPECT_EQ(type(DType::kU64, DType::kU64), DType::kU64);
  EXPECT_EQ(type(DType::kBool, DType::kBool), DType::kF32);
}

Dims RandomOperand(const Dims& out, std::mt19937& random) {
  Dims dims(out.begin() + random() % (out.size() + 1), out.end());
  for (int64_t& d : dims) d = random() % 3 == 0 ? 1 : d;
  return dims;
}

double At(const Numbers& operand, const Dims& out, int64_t index) {
  int64_t offset = 0, stride = 1;
  for (size_t back = 1; back <= out.size(); index /= out[out.size() - back++]) {
    if (back > operand.dims.size()) continue;
    const int64_t extent = operand.dims[operand.dims.size() - back];
    if (extent != 1) offset += index % out[out.size() - back] * stride;
    stride *= extent;
  }
  return operand.values[offset];
}

TEST(EvaluatePointwiseTest, BroadcastsAsNumpy) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Dims out(1 + random() % 4);
    for (int64_t& d : out) d = 1 + random() % (out.size() > 2 ? 11 : 90);
    const DType dtype = round % 2 == 0 ? DType::kF32 : DType::kF16;
    const Dims a_dims = RandomOperand(out, random);
    const Numbers a{a_dims, Pattern(ElementsOf(a_dims), round)},
        b{out, Pattern(ElementsOf(out), round + 1)};
    const Numbers sum = RunForNumbers(
        {.op = "Sub",
         .inputs = {TensorOf(dtype, a.dims, a.values), TensorOf(dtype, out, b.values)}});
    ASSERT_EQ(sum.dims, out);
    for (int64_t i = 0; i < ElementsOf(out); ++i) {
      ASSERT_EQ(sum.values[i], At(a, out, i) - b.values[i])
          << ToString(absl::MakeConstSpan(a.dims)) << " at " << i;
    }
  }
}

TEST(EvaluatePointwiseTest, EveryRowRunsOnEveryTypeItLists) {
  for (const OpDef* op : AllOps()) {
    const PointwiseRow* row = FindPointwise(op->type);
    if (row == nullptr || op->type == "Cast" || op->type == "Where")
      continue;  // they have rows of their own
    for (DType dtype :
         {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8, DType::kI16,
          DType::kU16, DType::kI32, DType::kU32, DType::kI64, DType::kU64, DType::kBool}) {
      if (!row->types.Has(dtype)) continue;
      const HostTensor ones = TensorOf(dtype, {3}, {1, 1, 1});
      int inputs = 1;
      for (const Term& term : row->expression.terms()) {
        const bool optional = op->type == "Clip";
        if (term.primitive == Primitive::kInput && !optional)
          inputs = std::max(inputs, term.input + 1);
      }
      const bool like = op->type == "CastLike";
      const absl::StatusOr<std::vector<HostTensor>> run =
          RunOp({.op = op->type, .inputs = std::vector<HostTensor>(like ? 2 : inputs, ones)});
      EXPECT_TRUE(run.ok()) << op->type << " on " << NameOf(dtype) << ": " << run.status();
    }
  }
}

}  // namespace
}  // namespace onnx_cudnn
