#include "runtime/ops/pointwise.h"

#include <algorithm>
#include <string>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/scalar_us.h"

namespace onnx_cudnn {

Expression::Expression(double constant)
    : terms_({{.primitive = Primitive::kConstant, .value = constant}}) {}

Expression Expression::Leaf(Term term) {
  Expression expression;
  expression.terms_.push_back(term);
  return expression;
}

int Expression::Append(const Expression& other) {
  std::vector<int> at;  // index in this Expression of each Term of `other`
  for (Term term : other.terms_) {
    for (int i = 0; i < ArityOf(term.primitive); ++i) term.args[i] = at[term.args[i]];
    auto found = std::find(terms_.begin(), terms_.end(), term);
    at.push_back(static_cast<int>(found - terms_.begin()));
    if (found == terms_.end()) terms_.push_back(term);
  }
  return at.back();
}

Expression Expression::Apply(Primitive primitive, const std::vector<Expression>& args) {
  Expression expression;
  Term term{.primitive = primitive};
  for (size_t i = 0; i < args.size(); ++i) term.args[i] = expression.Append(args[i]);
  expression.terms_.push_back(term);
  return expression;
}

namespace {

// Whether binding leaves the Term and its arguments unchanged.
bool IsSameForAllNodes(const Term& term) {
  const bool is_leaf = ArityOf(term.primitive) == 0;
  const bool stays = term.primitive == Primitive::kInput || term.primitive == Primitive::kConstant;
  return is_leaf ? stays : term.primitive != Primitive::kSelect;
}

// Builds the result of BindPointwise.
class Binder {
 public:
  Binder(const std::vector<Term>& terms, const Node& node) : terms_(terms), node_(node) {}

  Expression Bind(int index) {
    const Term& term = terms_[index];
    switch (term.primitive) {
      case Primitive::kAttribute:
        return Number(term);
      case Primitive::kAttributeIs:
        return node_.attrs().String(term.attribute, "") == term.text ? 1 : 0;
      case Primitive::kHasInput:
        return node_.has_input(term.input) ? 1 : 0;
      case Primitive::kInputCount:
        return static_cast<double>(node_.inputs().size());
      case Primitive::kFoldInputs:
        return Fold(term.fold);
      case Primitive::kSelect:
        return Select(term);
      default:
        return Apply(term);
    }
  }

 private:
  Expression Number(const Term& term) const {
    const int64_t* integer = node_.attrs().Get<int64_t>(term.attribute);
    if (integer != nullptr) return static_cast<double>(*integer);
    const float* number = node_.attrs().Get<float>(term.attribute);
    return Expression::Leaf({.primitive = Primitive::kConstant,
                             .value = number == nullptr ? term.value : double{*number},
                             .attribute = term.attribute});
  }

  Expression Fold(Primitive fold) const {
    Expression all = Expression::Leaf({.primitive = Primitive::kInput, .input = 0});
    for (int i = 1; i < static_cast<int>(node_.inputs().size()); ++i) {
      all = Expression::Apply(
          fold, {all, Expression::Leaf({.primitive = Primitive::kInput, .input = i})});
    }
    return all;
  }

  Expression Select(const Term& term) {
    const Expression condition = Bind(term.args[0]);
    const Term& result = condition.terms().back();
    if (result.primitive == Primitive::kConstant) return Bind(term.args[result.value != 0 ? 1 : 2]);
    return Expression::Apply(Primitive::kSelect,
                             {condition, Bind(term.args[1]), Bind(term.args[2])});
  }

  Expression Apply(const Term& term) {
    const int arity = ArityOf(term.primitive);
    if (arity == 0) return Expression::Leaf(term);
    std::vector<Expression> args;
    for (int i = 0; i < arity; ++i) args.push_back(Bind(term.args[i]));
    return Expression::Apply(term.primitive, args);
  }

  const std::vector<Term>& terms_;
  const Node& node_;
};

Support CheckPointwise(const Node& node) {
  std::vector<const Value*> values(node.inputs().begin(), node.inputs().end());
  values.push_back(&node.output(0));
  const Expression bound = BindPointwise(node);
  for (const Term& term : bound.terms()) {
    if (term.primitive != Primitive::kInput || node.has_input(term.input)) continue;
    return Support::No(absl::StrCat("input ", term.input, " is absent"));
  }
  for (const Value* v : values) {
    if (v == nullptr || kFixedSizeTypes.Has(v->dtype())) continue;
    return Support::No(absl::StrCat("no element-wise conversion from or to ", NameOf(v->dtype())));
  }
  return Support::Yes();
}

absl::Status CheckBroadcast(const TensorRef& in, const MutableTensorRef& out) {
  bool fits = in.dims.size() <= out.dims.size();
  for (size_t back = 1; fits && back <= in.dims.size(); ++back) {
    const int64_t own = in.dims[in.dims.size() - back];
    fits = own == 1 || own == out.dims[out.dims.size() - back];
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("an input of ", ToString(in.dims),
                                                 " does not broadcast to ", ToString(out.dims)));
}

absl::Status ReferencePointwise(const ReferenceArgs& args) {
  const Expression bound = BindPointwise(args.node);
  for (const Term& term : bound.terms()) {
    if (term.primitive == Primitive::kInput)
      RETURN_IF_ERROR(CheckBroadcast(args.in[term.input], args.out[0]));
  }
  EvaluatePointwise(bound, args.in, args.out[0], args.threads);
  return absl::OkStatus();
}

// Whether elements are computed one by one, by a math library function or a branch.
bool IsScalar(PrimitiveCost cost, bool is_f64) {
  if (cost == PrimitiveCost::kVectorized) return is_f64;
  return cost == PrimitiveCost::kFunction || cost == PrimitiveCost::kBranch;
}

Cost CostOfPointwise(const Node& node) {
  const Expression bound = BindPointwise(node);
  const bool is_f64 = node.has_input(0) && node.input(0).dtype() == DType::kF64;
  int64_t operations = 0, steps = 0;
  for (const Term& term : bound.terms()) {
    operations += ArityOf(term.primitive) > 0;
    steps += IsScalar(TraitsOf(term.primitive).cost, is_f64);
  }
  const int64_t elements = node.output(0).elements();
  return {.us = ScalarUs(steps * elements), .flops = operations * elements, .bytes = IoBytes(node)};
}

}  // namespace

Expression BindPointwise(const PointwiseRow& row, const Node& node) {
  const std::vector<Term>& terms = row.expression.terms();
  if (std::all_of(terms.begin(), terms.end(), IsSameForAllNodes)) return row.expression;
  return Binder(terms, node).Bind(static_cast<int>(terms.size()) - 1);
}

Expression BindPointwise(const Node& node) {
  return BindPointwise(*FindPointwise(node.op()), node);
}

DType ComputeTypeOf(const Expression& bound, const Node& node) {
  std::vector<DType> inputs;
  for (const Value* v : node.inputs()) {
    inputs.push_back(v == nullptr ? DType::kUndefined : v->dtype());
  }
  return ComputeTypeOf(bound, inputs);
}

DType ComputeTypeOf(const Expression& bound, absl::Span<const DType> inputs) {
  bool floats = false, doubles = false, integers = false, wide = false, unsigned_wide = false;
  for (const Term& term : bound.terms()) {
    floats |= term.primitive == Primitive::kConstant && !term.attribute.empty();
    if (term.primitive != Primitive::kInput) continue;
    const DType dtype = inputs[term.input];
    doubles |= dtype == DType::kF64;
    floats |= kFloatTypes.Has(dtype);
    integers |= kIntegerTypes.Has(dtype);
    wide |= kIntegerTypes.Has(dtype) && BitsOf(dtype) > 16;
    unsigned_wide |= dtype == DType::kU64;
  }
  if (doubles || (floats && wide)) return DType::kF64;
  if (floats || !integers) return DType::kF32;
  return unsigned_wide ? DType::kU64 : DType::kI64;
}

OpDef PointwiseOp(std::string_view op) {
  const PointwiseRow* row = FindPointwise(op);
  CHECK(row != nullptr) << op << " has no row in pointwise_rows.cc";
  return {
      .type = std::string(op),
      .since = {row->since},
      .types = row->types,
      .check = CheckPointwise,
      .reference = ReferencePointwise,
      .cost = CostOfPointwise,
      .in_place = true,
      .traits = row->traits,
  };
}

}  // namespace onnx_cudnn
