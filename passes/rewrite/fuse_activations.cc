// Exporters write activations as several element-wise Nodes. One Node replaces them if they are the
// product of x, a gate and a number:
//   Gelu       x · (1 + erf(x / √2)) · 1/2
//   Gelu       x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) · 1/2, approximate = "tanh"
//   HardSwish  x · clip(x + 3, 0, 6) · 1/6, or x · HardSigmoid(x)
//   Swish      x · Sigmoid(x)
// The operands may be in any order, the number anywhere in the product. Results differ by rounding,
// and by the difference between the written numbers and the exact ones.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/broadcast.h"
#include "passes/rewrite/utils/is_op.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
constexpr int kMostProducts = 4;  // nesting depth of products, such as 0.044715 · x³

// Whether `number` is how exporters write `exact`: exactly if bf16 represents it (1, 0.5, 6),
// otherwise with a relative error of up to 1e-3 or rounded to bf16.
bool IsWrittenAs(double number, double exact) {
  const double rounded = Widen<double>(Narrow<BFloat16>(exact));
  return number == rounded || (rounded != exact && std::abs(number - exact) <= 1e-3 * exact);
}

// Operand `i` as a number, if it does not broadcast the other operand.
std::optional<double> NumberAt(const Node& node, int i) {
  if (!node.has_input(i)) return std::nullopt;
  return NumberInto(node.input(i), node.input(i == 0 ? 1 : 0));
}

// A Value and the number that is multiplied with it or added to it.
struct WithNumber {
  Value* value;
  double number;
};

// For an Add or a Mul.
std::optional<WithNumber> SplitNumber(const Node& node) {
  for (const int side : {1, 0}) {
    const std::optional<double> number = NumberAt(node, side);
    if (number.has_value()) return WithNumber{&node.input(1 - side), *number};
  }
  return std::nullopt;
}

std::optional<WithNumber> ScaledBy(const Node& node) {
  if (IsOp(&node, {"Mul"})) return SplitNumber(node);
  if (!IsOp(&node, {"Div"})) return std::nullopt;
  const std::optional<double> divisor = NumberAt(node, 1);
  if (!divisor.has_value()) return std::nullopt;
  return WithNumber{&node.input(0), 1 / *divisor};
}

// x · gate · factor
struct Product {
  Value* x;
  Value* gate;
  double factor = 1;
  const Value* inner = nullptr;  // product of the first two; nullptr: there is no factor
};

// Every decomposition of a Mul or Div into a Product.
std::vector<Product> ProductsOf(const Node& node) {
  std::vector<Product> products;
  const auto add = [&](Value& a, Value& b, double factor, const Value* inner) {
    products.push_back({&a, &b, factor, inner});
    products.push_back({&b, &a, factor, inner});
  };
  if (const std::optional<WithNumber> scaled = ScaledBy(node)) {
    const Node* mul = scaled->value->producer();
    if (IsOp(mul, {"Mul"})) add(mul->input(0), mul->input(1), scaled->number, scaled->value);
    return products;
  }
  if (!IsOp(&node, {"Mul"})) return products;
  add(node.input(0), node.input(1), 1, nullptr);
  for (const int side : {0, 1}) {
    const Value& inner = node.input(side);
    if (inner.producer() == nullptr) continue;
    const std::optional<WithNumber> scaled = ScaledBy(*inner.producer());
    if (scaled.has_value()) add(*scaled->value, node.input(1 - side), scaled->number, &inner);
  }
  return products;
}

// Matches a gate's Nodes against a formula of x, starting at its result. Records whether its
// numbers match, and whether other Nodes read its inner Values.
class Formula {
 public:
  explicit Formula(const Product& product)
      : x_(product.x),
        gate_(product.gate),
        has_other_users_(product.inner != nullptr && !product.inner->has_one_use()) {}

  bool IsSigmoid() { return Under(gate_, "Sigmoid") == x_; }
  bool IsHardSigmoid() {
    if (Under(gate_, "HardSigmoid") != x_) return false;
    const Attrs& attrs = gate_->producer()->attrs();
    Compare(attrs.Float("alpha", 0.2F), 1.0 / 6);
    Compare(attrs.Float("beta", 0.5F), 0.5);
    return true;
  }
  bool IsClip() {
    if (Without(3, Under(gate_, "Clip")) != x_) return false;
    const Node& clip = *gate_->producer();
    const std::optional<double> low = NumberAt(clip, 1), high = NumberAt(clip, 2);
    if (!low.has_value() || !high.has_value()) return false;
    Compare(*low, 0);
    Compare(*high, 6);
    return true;
  }
  bool IsErf() { return Unscaled(kSqrtHalf, Under(Without(1, gate_), "Erf")) == x_; }
  bool IsTanh() {
    const Value* sum = Unscaled(kSqrtTwoOverPi, Under(Without(1, gate_), "Tanh"));
    const Node* add = Inner(sum, {"Add"});
    if (add == nullptr) return false;
    const int side = &add->input(0) == x_ ? 0 : 1;
    if (&add->input(side) != x_ || !ReadPower(add->input(1 - side), kMostProducts)) return false;
    Compare(exponent_, 3);
    Compare(coefficient_, 0.044715);
    return true;
  }

  void Compare(double number, double exact) { has_other_numbers_ |= !IsWrittenAs(number, exact); }
  // Why it is not the formula; empty: it is.
  std::string_view WhyNot() const {
    if (has_other_numbers_) return "a number is not the activation's";
    if (has_other_users_) return "a value inside of the activation has other users";
    return kTypes.Has(x_->dtype()) ? "" : "its type is not f32, f16 or bf16";
  }

 private:
  // The producer of a Value of the formula; nullptr: another op.
  const Node* Inner(const Value* v, std::initializer_list<std::string_view> ops) {
    if (v == nullptr || !IsOp(v->producer(), ops)) return nullptr;
    has_other_users_ |= !v->has_one_use();
    return v->producer();
  }
  // u for v = op(u), v = u + number, v = u · number; nullptr: v has another form.
  const Value* Under(const Value* v, std::string_view op) {
    const Node* node = Inner(v, {op});
    return node == nullptr ? nullptr : &node->input(0);
  }
  const Value* Without(double number, const Value* v) {
    const Node* add = Inner(v, {"Add"});
    return add == nullptr ? nullptr : Compared(SplitNumber(*add), number);
  }
  const Value* Unscaled(double number, const Value* v) {
    const Node* node = Inner(v, {"Div", "Mul"});
    return node == nullptr ? nullptr : Compared(ScaledBy(*node), number);
  }
  const Value* Compared(const std::optional<WithNumber>& found, double number) {
    if (!found.has_value()) return nullptr;
    Compare(found->number, number);
    return found->value;
  }

  // Multiplies coefficient_ · x^exponent_ by `v`, a product of x and numbers nested at most `most`
  // deep; returns false for any other Value.
  bool ReadPower(const Value& v, int most) {
    if (&v == x_) {
      ++exponent_;
      return true;
    }
    const Node* node = most == 0 ? nullptr : Inner(&v, {"Div", "Mul", "Pow"});
    if (node == nullptr) return false;
    if (node->op() == "Pow") {
      const std::optional<double> exponent = NumberAt(*node, 1);
      exponent_ += exponent.value_or(0);
      return exponent.has_value() && &node->input(0) == x_;
    }
    if (const std::optional<WithNumber> scaled = ScaledBy(*node)) {
      coefficient_ *= scaled->number;
      return ReadPower(*scaled->value, most - 1);
    }
    return node->op() == "Mul" && ReadPower(node->input(0), most - 1) &&
           ReadPower(node->input(1), most - 1);
  }

  const Value* x_;
  const Value* gate_;
  bool has_other_numbers_ = false, has_other_users_;
  double exponent_ = 0, coefficient_ = 1;
};

struct Activation {
  double factor;  // 1 if there is none
  bool (Formula::*is_gate)();
  std::string_view op;
  int since;                          // the first opset that has the op
  std::string_view approximate = "";  // of Gelu
};
constexpr Activation kActivations[] = {{1, &Formula::IsSigmoid, "Swish", 24},
                                       {1, &Formula::IsHardSigmoid, "HardSwish", 14},
                                       {1.0 / 6, &Formula::IsClip, "HardSwish", 14},
                                       {0.5, &Formula::IsErf, "Gelu", 20},
                                       {0.5, &Formula::IsTanh, "Gelu", 20, "tanh"}};

Match Replace(Graph& graph, Node& old, Value& x, const Activation& activation) {
  NodeSpec spec{.op = std::string(activation.op),
                .inputs = {&x},
                .outputs = {old.output(0).name()},
                .name = old.name()};
  if (!activation.approximate.empty()) {
    spec.attrs.Set("approximate", std::string(activation.approximate));
  }
  Node& fused = graph.AddNode(std::move(spec));
  graph.SetType(fused.output(0), old.output(0).type());
  graph.ReplaceAllUses(old.output(0), fused.output(0));
  return Match::Changed();
}

class FuseActivationsPass final : public OpPass {
 public:
  FuseActivationsPass() : OpPass("fuse-activations", {"Div", "Mul"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    Match match = Match::None();
    for (const Product& product : ProductsOf(node)) {
      for (const Activation& activation : kActivations) {
        if ((activation.factor == 1) != (product.inner == nullptr)) continue;
        Formula formula(product);
        if (!(formula.*activation.is_gate)()) continue;
        formula.Compare(product.factor, activation.factor);
        std::string_view why_not = formula.WhyNot();
        if (activation.since > context().newest_opset) why_not = "the file's opset lacks the op";
        if (why_not.empty()) return Replace(graph, node, *product.x, activation);
        match = Match::No(node, why_not);
      }
    }
    return match;
  }
};

}  // namespace

std::unique_ptr<Pass> FuseActivations() { return std::make_unique<FuseActivationsPass>(); }

}  // namespace onnx_cudnn
