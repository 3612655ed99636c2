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
  std::array<int, 3> args = {-1, -1, -1};      // earlier Terms of the same Expression
  int input = -1;                              // kInput, kHasInput
  double value = 0;                            // kConstant, kAttribute
  std::string_view attribute = {}, text = {};  // of a kConstant: the float attribute that it was
  Primitive fold = Primitive::kAdd;            // kFoldInputs
  bool operator==(const Term&) const = default;
};

// Terms in an order in which arguments come first; the last one is the result. No Term stands
// twice.
class Expression {
 public:
  Expression() = default;
  Expression(double constant);  // NOLINT: rows read as formulas
  const std::vector<Term>& terms() const { return terms_; }

  static Expression Leaf(Term term);
  static Expression Apply(Primitive primitive, const std::vector<Expression>& args);

 private:
  int Append(const Expression& other);  // the index of its result
  std::vector<Term> terms_;
};

struct PointwiseRow {
  std::string_view op;
  int since;
  DTypeSet types;  // of input 0
  Expression expression;
  OpTraits traits = {};
};

// The row of an element-wise op, nullptr when it is none.
const PointwiseRow* FindPointwise(std::string_view op);

// The row's expression for one Node: attributes and the presence of inputs are numbers, folds are
// written out, conditions that are known are decided and Terms that nothing needs are gone. What is
// left reads kInput and kConstant only.
Expression BindPointwise(const PointwiseRow& row, const Node& node);
Expression BindPointwise(const Node& node);  // by the row of its op, which must have one

// The type in which `bound` is computed: f32 for 16-bit floats, f32 and bool, f64 where an f64 or a
// wide integer meets floats (a float attribute is one), else i64 or u64. The result is rounded to
// the output's dtype once.
DType ComputeTypeOf(const Expression& bound, absl::Span<const DType> inputs);
DType ComputeTypeOf(const Expression& bound, const Node& node);

// Evaluates a bound expression. Inputs broadcast to the dims of `out` by numpy's rule; `out` may
// lie in the bytes of an input of its dtype and dims.
void EvaluatePointwise(const Expression& bound, absl::Span<const TensorRef> in,
                       const MutableTensorRef& out, ThreadPool& threads);

// The definition that the line POINTWISE(op) of ops.inc stands for.
OpDef PointwiseOp(std::string_view op);

}  // namespace onnx_cudnn
