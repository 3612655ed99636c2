// Element-wise ops as data: an expression per op, which the reference evaluates on the host, the
// cuDNN Engine lowers to pointwise operations, and our kernels run as a program.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "runtime/ops/op_def.h"
#include "runtime/ops/primitives.h"

namespace onnx_cudnn {

struct Term {
  Primitive primitive = Primitive::kConstant;
  std::array<int, 3> args = {-1, -1, -1};  // earlier Terms of the same Expression
  int input = -1;                          // kInput, kHasInput
  double value = 0;                        // kConstant, kAttribute
  // Of a kConstant: the float attribute that it was bound from.
  std::string_view attribute = {}, text = {};
  Primitive fold = Primitive::kAdd;  // kFoldInputs
  bool operator==(const Term&) const = default;
};

// Terms in topological order, without duplicates; the last one is the result.
class Expression {
 public:
  Expression() = default;
  Expression(double constant);  // NOLINT: rows read as formulas
  const std::vector<Term>& terms() const { return terms_; }

  static Expression Leaf(Term term);
  static Expression Apply(Primitive primitive, const std::vector<Expression>& args);

 private:
  int Append(const Expression& other);  // returns the index of its result
  std::vector<Term> terms_;
};

struct PointwiseRow {
  std::string_view op;
  int since;
  DTypeSet types;  // of input 0
  Expression expression;
  OpTraits traits = {};
};

// The row of an element-wise op; nullptr for other ops.
const PointwiseRow* FindPointwise(std::string_view op);

// The row's expression for one Node: attributes and the presence of inputs become numbers, folds
// are expanded, known conditions are decided and unused Terms removed. The result contains only
// kInput, kConstant and primitives.
Expression BindPointwise(const PointwiseRow& row, const Node& node);
Expression BindPointwise(const Node& node);  // for an element-wise op

// The compute type of `bound`: f32 for 16-bit floats, f32 and bool; f64 if an f64, or a wide
// integer together with floats (a float attribute counts), occurs; otherwise i64 or u64. The result
// is rounded once, to the output's dtype.
DType ComputeTypeOf(const Expression& bound, absl::Span<const DType> inputs);
DType ComputeTypeOf(const Expression& bound, const Node& node);

// Evaluates a bound expression. Inputs broadcast to the dims of `out` by numpy's rule; `out` may
// share the bytes of an input of its dtype and dims.
void EvaluatePointwise(const Expression& bound, absl::Span<const TensorRef> in,
                       const MutableTensorRef& out, ThreadPool& threads);

// The definition for the line POINTWISE(op) of ops.inc.
OpDef PointwiseOp(std::string_view op);

}  // namespace onnx_cudnn
