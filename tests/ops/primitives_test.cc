// A primitive is defined by its row in primitives.inc alone; an op and a case test it.
#include "runtime/ops/primitives.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/ops/pointwise.h"
#include "runtime/ops/pointwise_kernels.h"
#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

// The primitives of a case's bound expression.
std::set<Primitive> PrimitivesOf(const OpCase& c) {
  Graph graph;
  NodeSpec spec{.op = c.op, .attrs = c.attrs};
  for (const HostTensor& input : c.inputs) {
    const Type type = input.defined() ? Type::Tensor(input.dtype(), input.dims()) : Type{};
    spec.inputs.push_back(input.defined() ? &graph.AddInput("x", type) : nullptr);
  }
  const PointwiseRow* row = FindPointwise(c.op);
  std::set<Primitive> primitives;
  if (row == nullptr) return primitives;
  const Expression expression = BindPointwise(*row, graph.AddNode(std::move(spec)));
  for (const Term& term : expression.terms()) primitives.insert(term.primitive);
  return primitives;
}

// The emulator and GPUs run every case in every kernel that supports it.
TEST(PrimitivesTest, EachHasACase) {
  std::set<Primitive> found;
  for (const OpCase& c : PointwiseCases()) found.merge(PrimitivesOf(c));
  for (size_t row = 0; row < std::size(kPrimitives); ++row) {
    EXPECT_TRUE(found.contains(static_cast<Primitive>(row))) << kPrimitives[row].name;
  }
}

// A type that the row does not list aborts the program.
template <typename T>
void RunAll() {
  const T one = 1;
  for (size_t row = 0; row < std::size(kPrimitives); ++row) {
    if (!IsDefinedOn<T>(kPrimitives[row].types)) continue;
    T result = T(-7);
    RunPrimitive<T>(static_cast<Primitive>(row), {&one, &one, &one}, &result, 1);
    EXPECT_NE(result, T(-7)) << kPrimitives[row].name;
  }
}

TEST(PrimitivesTest, EachRunsOnTheTypesOfItsRow) {
  RunAll<float>();
  RunAll<double>();
  RunAll<int64_t>();
  RunAll<uint64_t>();
}

}  // namespace
}  // namespace onnx_cudnn
