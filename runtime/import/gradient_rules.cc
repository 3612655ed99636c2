#include "runtime/import/gradient_rules.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/import/upgrade.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/transpose.h"

namespace onnx_cudnn {
namespace {

// A Node, the gradient of its output, and short names for the parts of rules.
class Reversal {
 public:
  Reversal(Backward& back, const Node& node, Value& dy) : back_(back), node_(node), dy_(dy) {}

  const Node& node() const { return node_; }
  Value& dy() const { return dy_; }
  Value& in(int i) const { return node_.input(i); }
  Value& out() const { return node_.output(0); }
  bool Wants(int i) const { return node_.has_input(i) && back_.Wants(in(i)); }

  Value& Op(std::string op, std::vector<Value*> inputs, Attrs attrs = {}) const {
    return back_.Op(std::move(op), std::move(inputs), std::move(attrs));
  }
  Value& Add(Value& a, Value& b) const { return Op("Add", {&a, &b}); }
  Value& Sub(Value& a, Value& b) const { return Op("Sub", {&a, &b}); }
  Value& Mul(Value& a, Value& b) const { return Op("Mul", {&a, &b}); }
  Value& Div(Value& a, Value& b) const { return Op("Div", {&a, &b}); }
  Value& Neg(Value& a) const { return Op("Neg", {&a}); }
  Value& Number(float number) const { return back_.Number(number, out()); }

  // Adds the gradient of input `i`, which may have been broadcast.
  void Give(int i, absl::FunctionRef<Value&()> gradient) const {
    if (Wants(i)) back_.Give(in(i), back_.SummedTo(in(i), gradient()));
  }
  // Adds a gradient with the dims of input 0.
  void GiveWhole(Value& gradient) const {
    if (Wants(0)) back_.Give(in(0), gradient);
  }
  void Fail(std::string_view reason) const {
    back_.Fail(absl::UnimplementedError(absl::StrCat(FormOf(node_), ": ", reason)));
  }

 private:
  Backward& back_;
  const Node& node_;
  Value& dy_;
};

void BackAbs(const Reversal& s) { s.GiveWhole(s.Mul(s.dy(), s.Op("Sign", {&s.in(0)}))); }
void BackCast(const Reversal& s) { s.GiveWhole(s.Op("CastLike", {&s.dy(), &s.in(0)})); }
void BackCos(const Reversal& s) { s.GiveWhole(s.Neg(s.Mul(s.dy(), s.Op("Sin", {&s.in(0)})))); }
void BackExp(const Reversal& s) { s.GiveWhole(s.Mul(s.dy(), s.out())); }
void BackIdentity(const Reversal& s) { s.GiveWhole(s.dy()); }
void BackLog(const Reversal& s) { s.GiveWhole(s.Div(s.dy(), s.in(0))); }
void BackNeg(const Reversal& s) { s.GiveWhole(s.Neg(s.dy())); }
void BackSin(const Reversal& s) { s.GiveWhole(s.Mul(s.dy(), s.Op("Cos", {&s.in(0)}))); }
void BackSqrt(const Reversal& s) { s.GiveWhole(s.Div(s.dy(), s.Add(s.out(), s.out()))); }

void BackRelu(const Reversal& s) {
  Value& zero = s.Number(0);
  s.GiveWhole(s.Op("Where", {&s.Op("Greater", {&s.in(0), &zero}), &s.dy(), &zero}));
}

void BackSigmoid(const Reversal& s) {
  s.GiveWhole(s.Mul(s.dy(), s.Mul(s.out(), s.Sub(s.Number(1), s.out()))));
}

void BackSteps(const Reversal&) {}  // piecewise constant

void BackTanh(const Reversal& s) {
  s.GiveWhole(s.Mul(s.dy(), s.Sub(s.Number(1), s.Mul(s.out(), s.out()))));
}

// dy, summed over broadcast axes.
void BackSum(const Reversal& s) {
  for (int i = 0; i < static_cast<int>(s.node().inputs().size()); ++i)
    s.Give(i, [&]() -> Value& { return s.dy(); });
}

void BackWhere(const Reversal& s) {
  s.Give(1, [&]() -> Value& { return s.Op("Where", {&s.in(0), &s.dy(), &s.Number(0)}); });
  s.Give(2, [&]() -> Value& { return s.Op("Where", {&s.in(0), &s.Number(0), &s.dy()}); });
}

void BackSub(const Reversal& s) {
  s.Give(0, [&]() -> Value& { return s.dy(); });
  s.Give(1, [&]() -> Value& { return s.Neg(s.dy()); });
}

void BackMul(const Reversal& s) {
  s.Give(0, [&]() -> Value& { return s.Mul(s.dy(), s.in(1)); });
  s.Give(1, [&]() -> Value& { return s.Mul(s.dy(), s.in(0)); });
}

void BackDiv(const Reversal& s) {
  s.Give(0, [&]() -> Value& { return s.Div(s.dy(), s.in(1)); });
  s.Give(1, [&]() -> Value& { return s.Neg(s.Div(s.Mul(s.dy(), s.out()), s.in(1))); });
}

// An exponent of 0 gives 0, even for a base of 0.
void BackPow(const Reversal& s) {
  if (s.Wants(1)) return s.Fail("its gradient for the exponent is not implemented");
  s.Give(0, [&]() -> Value& {
    Value& exponent = s.Op("CastLike", {&s.in(1), &s.in(0)});
    Value& less = s.Op("Pow", {&s.in(0), &s.Sub(exponent, s.Number(1))});
    Value& zero = s.Number(0);
    Value& slope =
        s.Op("Where", {&s.Op("Equal", {&exponent, &zero}), &zero, &s.Mul(exponent, less)});
    return s.Mul(s.dy(), slope);
  });
}

Value& Transposed(const Reversal& s, Value& matrix) {
  std::vector<int64_t> perm(matrix.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return s.Op("Transpose", {&matrix}, {{"perm", perm}});
}

void BackMatMul(const Reversal& s) {
  const auto is_matrix = [](const Value& v) { return v.type().ranked && v.rank() >= 2; };
  if (!is_matrix(s.in(0)) || !is_matrix(s.in(1)))
    return s.Fail("its gradient is implemented for ranks of at least 2");
  s.Give(0, [&]() -> Value& { return s.Op("MatMul", {&s.dy(), &Transposed(s, s.in(1))}); });
  s.Give(1, [&]() -> Value& { return s.Op("MatMul", {&Transposed(s, s.in(0)), &s.dy()}); });
}

// dy, repeated for every summed element.
Value& Spread(const Reversal& s) {
  const bool drops_axes = s.node().attrs().Int("keepdims", 1) == 0 && s.node().has_input(1);
  Value& dy = drops_axes ? s.Op("Unsqueeze", {&s.dy(), &s.in(1)}) : s.dy();
  return s.Op("Expand", {&dy, &s.Op("Shape", {&s.in(0)})});
}

void BackReduceSum(const Reversal& s) { s.GiveWhole(Spread(s)); }

void BackReduceMean(const Reversal& s) {
  const auto count = [&](Value& v) -> Value& {
    return s.Op("CastLike", {&s.Op("Size", {&v}), &s.out()});
  };
  s.GiveWhole(s.Mul(Spread(s), s.Div(count(s.out()), count(s.in(0)))));
}

void BackReshape(const Reversal& s) {
  s.GiveWhole(s.Op("Reshape", {&s.dy(), &s.Op("Shape", {&s.in(0)})}, {{"allowzero", int64_t{1}}}));
}

void BackTranspose(const Reversal& s) {
  const std::vector<int64_t> perm = s.node().attrs().Ints("perm");
  if (perm.empty()) return s.GiveWhole(s.Op("Transpose", {&s.dy()}));
  s.GiveWhole(s.Op("Transpose", {&s.dy()}, {{"perm", InversePerm(perm)}}));
}

struct Rule {
  std::string_view op;
  void (*back)(const Reversal& s);
};
constexpr Rule kRules[] = {
    {"Abs", BackAbs},
    {"Add", BackSum},
    {"Cast", BackCast},
    {"CastLike", BackCast},
    {"Ceil", BackSteps},
    {"Cos", BackCos},
    {"Div", BackDiv},
    {"Exp", BackExp},
    {"Expand", BackSum},
    {"Flatten", BackReshape},
    {"Floor", BackSteps},
    {"Identity", BackIdentity},
    {"Log", BackLog},
    {"MatMul", BackMatMul},
    {"Mul", BackMul},
    {"Neg", BackNeg},
    {"Pow", BackPow},
    {"ReduceMean", BackReduceMean},
    {"ReduceSum", BackReduceSum},
    {"Relu", BackRelu},
    {"Reshape", BackReshape},
    {"Round", BackSteps},
    {"Sigmoid", BackSigmoid},
    {"Sign", BackSteps},
    {"Sin", BackSin},
    {"Sqrt", BackSqrt},
    {"Squeeze", BackReshape},
    {"Sub", BackSub},
    {"Sum", BackSum},
    {"Tanh", BackTanh},
    {"Transpose", BackTranspose},
    {"Unsqueeze", BackReshape},
    {"Where", BackWhere},
};

// The axes of `to` along which `from`, aligned to its last dims, was broadcast; false: unknown.
bool FindBroadcastAxes(const Type& from, const Type& to, std::vector<int64_t>& axes) {
  if (!from.ranked || !to.ranked || from.dims.size() > to.dims.size()) return false;
  const size_t lead = to.dims.size() - from.dims.size();
  for (size_t i = lead; i < to.dims.size(); ++i) {
    const Dim &extent = from.dims[i - lead], &all = to.dims[i];
    const bool is_named = extent.value >= 0 || !extent.symbol.empty();
    if ((is_named && extent == all) || extent.value > 1) continue;
    if (extent.value != 1) return false;
    axes.push_back(static_cast<int64_t>(i - lead));
  }
  return true;
}

}  // namespace

void Backward::Give(const Value& value, Value& gradient) {
  Value*& known = gradients_[&value];
  known = known == nullptr ? &gradient : &Op("Add", {known, &gradient});
}

Value* Backward::GradientOf(const Value& value) const {
  auto known = gradients_.find(&value);
  return known == gradients_.end() ? nullptr : known->second;
}

Value& Backward::Op(std::string op, std::vector<Value*> inputs, Attrs attrs) {
  Value& first = *inputs[0];
  if (!status_.ok()) return first;
  absl::StatusOr<std::vector<Value*>> outputs =
      AppendNode(graph_, inference_,
                 {.op = std::move(op), .inputs = std::move(inputs), .attrs = std::move(attrs)});
  Fail(outputs.status());
  return outputs.ok() ? *outputs->front() : first;
}

Value& Backward::Number(float number, const Value& like) {
  Value& scalar = graph_.AddConstant(HostTensor::Of<float>(DType::kF32, {}, {number}));
  if (like.dtype() == DType::kF32) return scalar;
  return Op("Cast", {&scalar}, {{"to", static_cast<int64_t>(like.dtype())}});
}

Value& Backward::Filled(float number, Value& like) {
  return Op("Expand", {&Number(number, like), &Op("Shape", {&like})});
}

Value& Backward::SummedTo(const Value& value, Value& gradient) {
  std::vector<int64_t> axes;
  if (!FindBroadcastAxes(value.type(), gradient.type(), axes)) {
    Fail(absl::UnimplementedError(absl::StrCat("whether ", value.name(), " ",
                                               ToString(value.type()), " was broadcast to ",
                                               ToString(gradient.type()), " is not known")));
    return gradient;
  }
  Value* sum = &gradient;
  std::vector<int64_t> lead(gradient.rank() - value.rank());
  std::iota(lead.begin(), lead.end(), 0);
  for (const auto& [summed, keepdims] :
       {std::pair(lead, int64_t{0}), std::pair(axes, int64_t{1})}) {
    if (summed.empty()) continue;
    Value& input = graph_.AddConstant(HostTensor::Ints(summed));
    sum = &Op("ReduceSum", {sum, &input}, {{"keepdims", keepdims}});
  }
  return *sum;
}

void GoBackThrough(Backward& back, const Node& node, Value& dy) {
  const Reversal reversal(back, node, dy);
  const auto* rule = std::find_if(std::begin(kRules), std::end(kRules),
                                  [&](const Rule& r) { return r.op == node.op(); });
  if (rule == std::end(kRules) || !node.domain().empty())
    return reversal.Fail("its gradient is not implemented");
  rule->back(reversal);
}

}  // namespace onnx_cudnn
