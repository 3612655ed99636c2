#include <string>

#include "tests/random/makers.h"

namespace onnx_cudnn {
namespace {

constexpr std::array kUnary = {
    "Abs",       "Atan",     "Ceil",   "Celu",    "Cos",         "Elu",
    "Erf",       "Exp",      "Floor",  "Gelu",    "HardSigmoid", "HardSwish",
    "LeakyRelu", "Log",      "Mish",   "Neg",     "Reciprocal",  "Relu",
    "Round",     "Selu",     "Shrink", "Sigmoid", "Sign",        "Sin",
    "Softplus",  "Softsign", "Sqrt",   "Swish",   "Tanh",        "ThresholdedRelu"};
constexpr std::array kBinary = {"Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "Mod"};
constexpr std::array kOrder = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"};
constexpr std::array kLogic = {"And", "Or", "Xor"};
constexpr std::array kVariadic = {"Sum", "Mean", "Max", "Min"};
constexpr std::array kDTypes = {DType::kF32, DType::kF32, DType::kF16, DType::kF64,
                                DType::kI64, DType::kI32, DType::kBool};

bool IsNumber(const Value& x) { return kNumberTypes.Has(x.dtype()); }
bool IsBool(const Value& x) { return x.dtype() == DType::kBool; }
bool IsAny(const Value&) { return true; }

// Dims that broadcast to those of `x`.
Dims Broadcastable(Growth& g, const Value& x) {
  Dims dims = x.dims();
  if (g.OneIn(3)) dims.erase(dims.begin(), dims.begin() + g.Below(x.rank() + 1));
  for (int64_t& d : dims) {
    if (g.OneIn(3)) d = 1;
  }
  return dims;
}

// A second operand for `x`: another Value, or a constant at random.
Value& Operand(Growth& g, const Value& x) {
  if (g.OneIn(2)) {
    Value* other = g.Pick([&](const Value& v) { return v.dtype() == x.dtype(); });
    if (other != nullptr) return *other;
  }
  return g.Constant(x.dtype(), Broadcastable(g, x), -2, 2);
}

void Unary(Growth& g, Value& x) { g.AddValue(g.OneOf(kUnary), {&x}); }

void Binary(Growth& g, Value& x) {
  Value& other = Operand(g, x);
  if (g.OneIn(2)) {
    g.AddValue(g.OneOf(kBinary), {&x, &other});
  } else {
    g.AddValue(g.OneOf(kBinary), {&other, &x});
  }
}

void Compare(Growth& g, Value& x) { g.AddValue(g.OneOf(kOrder), {&x, &Operand(g, x)}); }

void Logic(Growth& g, Value& x) {
  if (g.OneIn(3)) {
    g.AddValue("Not", {&x});
  } else {
    g.AddValue(g.OneOf(kLogic), {&x, &Operand(g, x)});
  }
}

void Variadic(Growth& g, Value& x) {
  g.AddValue(g.OneOf(kVariadic), {&x, &Operand(g, x), &Operand(g, x)});
}

void Choose(Growth& g, Value& x) {
  Value* condition = g.Pick(IsBool);
  if (condition == nullptr || g.OneIn(4))
    condition = &g.Constant(DType::kBool, Broadcastable(g, x));
  g.AddValue("Where", {condition, &x, &Operand(g, x)});
}

void Clip(Growth& g, Value& x) {
  Value* low = g.OneIn(3) ? nullptr : &g.Filled(x.dtype(), {}, g.Uniform(-1, 0));
  Value* high = g.OneIn(3) ? nullptr : &g.Filled(x.dtype(), {}, g.Uniform(0.5, 6));
  g.Add({.op = "Clip", .inputs = {&x, low, high}});
}

void Power(Growth& g, Value& x) {
  static constexpr std::array kExponents = {0.5f, 1.0f, 2.0f, 3.0f};
  g.AddValue("Pow", {&x, &g.Filled(x.dtype(), {}, g.OneOf(kExponents))});
}

void Cast(Growth& g, Value& x) {
  g.AddValue("Cast", {&x}, {{"to", static_cast<int64_t>(g.OneOf(kDTypes))}});
}

constexpr Maker kMakers[] = {
    {IsFloat, Unary},    {IsFloat, Unary},   {IsFloat, Unary},    {IsNumber, Binary},
    {IsNumber, Binary},  {IsNumber, Binary}, {IsNumber, Compare}, {IsBool, Logic},
    {IsFloat, Variadic}, {IsNumber, Choose}, {IsFloat, Clip},     {IsFloat, Power},
    {IsAny, Cast},
};

}  // namespace

absl::Span<const Maker> PointwiseMakers() { return kMakers; }

}  // namespace onnx_cudnn
