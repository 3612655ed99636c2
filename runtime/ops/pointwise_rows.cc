// The table of element-wise ops. See pointwise.h for the elements of an Expression.
#include <limits>

#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

using E = Expression;
using P = Primitive;

constexpr DTypeSet kBool = {DType::kBool};
constexpr DTypeSet kSignedTypes =
    kFloatTypes | DTypeSet{DType::kI8, DType::kI16, DType::kI32, DType::kI64};
constexpr OpTraits kKeepsRange = {.keeps_range = true};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

E In(int i) { return E::Leaf({.primitive = P::kInput, .input = i}); }
E HasIn(int i) { return E::Leaf({.primitive = P::kHasInput, .input = i}); }
E Attr(std::string_view name, double otherwise) {
  return E::Leaf({.primitive = P::kAttribute, .value = otherwise, .attribute = name});
}
E AttrIs(std::string_view name, std::string_view text) {
  return E::Leaf({.primitive = P::kAttributeIs, .attribute = name, .text = text});
}
E Fold(Primitive fold) { return E::Leaf({.primitive = P::kFoldInputs, .fold = fold}); }
E InputCount() { return E::Leaf({.primitive = P::kInputCount}); }

// One function per primitive: Abs(x), Add(x, y), …
#define PRIMITIVE(name, arity, ...)            \
  template <typename... Args>                  \
  E name(const Args&... args) {                \
    static_assert(sizeof...(Args) == arity);   \
    return E::Apply(P::k##name, {E(args)...}); \
  }
#include "runtime/ops/primitives.inc"

E operator+(const E& a, const E& b) { return Add(a, b); }
E operator-(const E& a, const E& b) { return Sub(a, b); }
E operator*(const E& a, const E& b) { return Mul(a, b); }
E operator/(const E& a, const E& b) { return Div(a, b); }
E operator<(const E& a, const E& b) { return Less(a, b); }
E operator<=(const E& a, const E& b) { return LessOrEqual(a, b); }
E operator-(const E& a) { return Neg(a); }

E AtLeast(const E& a, int bound) { return Select(HasIn(bound), Max(a, In(bound)), a); }
E AtMost(const E& a, int bound) { return Select(HasIn(bound), Min(a, In(bound)), a); }
E Softplus(const E& a) { return Max(a, 0) + Log1p(Exp(-Abs(a))); }  // does not overflow

E Gelu(const E& x) {
  constexpr double kSqrtHalf = 0.70710678118654752440, kSqrtTwoOverPi = 0.79788456080286535588;
  const E tanh = Tanh(E(kSqrtTwoOverPi) * (x + E(0.044715) * x * x * x));
  return E(0.5) * x * (E(1) + Select(AttrIs("approximate", "tanh"), tanh, Erf(x * E(kSqrtHalf))));
}

std::vector<PointwiseRow> MakeRows() {
  const E x = In(0), y = In(1);
  return {
      {"Abs", 13, kNumberTypes, Abs(x), kKeepsRange},
      {"Acos", 22, kFloatTypes, Acos(x)},
      {"Acosh", 22, kFloatTypes, Acosh(x)},
      {"Add", 14, kNumberTypes, x + y, kKeepsRange},
      {"And", 7, kBool, And(x, y)},
      {"Asin", 22, kFloatTypes, Asin(x)},
      {"Asinh", 22, kFloatTypes, Asinh(x)},
      {"Atan", 22, kFloatTypes, Atan(x)},
      {"Atanh", 22, kFloatTypes, Atanh(x)},
      {"BitShift", 28, kIntegerTypes,
       Select(AttrIs("direction", "LEFT"), ShiftLeft(x, y), ShiftRight(x, y))},
      {"BitwiseAnd", 18, kIntegerTypes, BitAnd(x, y)},
      {"BitwiseNot", 18, kIntegerTypes, BitXor(x, -1)},
      {"BitwiseOr", 18, kIntegerTypes, BitOr(x, y)},
      {"BitwiseXor", 18, kIntegerTypes, BitXor(x, y)},
      {"Cast", 28, kFixedSizeTypes, x},
      {"CastLike", 25, kFixedSizeTypes, x},
      {"Ceil", 13, kFloatTypes, Ceil(x)},
      {"Celu", 28, kFloatTypes, Max(x, 0) + Min(Attr("alpha", 1) * Expm1(x / Attr("alpha", 1)), 0)},
      {"Clip", 13, kNumberTypes, AtMost(AtLeast(x, 1), 2), kKeepsRange},
      {"Cos", 22, kFloatTypes, Cos(x)},
      {"Cosh", 22, kFloatTypes, Cosh(x)},
      {"Div", 14, kNumberTypes, x / y, kKeepsRange},
      {"Elu", 22, kFloatTypes, Select(x < 0, Attr("alpha", 1) * Expm1(x), x), kKeepsRange},
      {"Equal", 19, kFixedSizeTypes, Equal(x, y)},
      {"Erf", 13, kFloatTypes, Erf(x)},
      {"Exp", 13, kFloatTypes, Exp(x)},
      {"Floor", 13, kFloatTypes, Floor(x)},
      {"Gelu", 20, kFloatTypes, Gelu(x), kKeepsRange},
      {"Greater", 13, kNumberTypes, y < x},
      {"GreaterOrEqual", 16, kNumberTypes, y <= x},
      {"HardSigmoid", 22, kFloatTypes, Max(Min(Attr("alpha", 0.2F) * x + Attr("beta", 0.5), 1), 0),
       kKeepsRange},
      {"HardSwish", 22, kFloatTypes, x * Max(Min(x / E(6) + E(0.5), 1), 0), kKeepsRange},
      {"IsInf", 20, kFloatTypes,
       Or(And(Attr("detect_positive", 1), Equal(x, kInfinity)),
          And(Attr("detect_negative", 1), Equal(x, -kInfinity)))},
      {"IsNaN", 20, kFloatTypes, Not(Equal(x, x))},
      {"LeakyRelu", 16, kFloatTypes, Select(x < 0, Attr("alpha", 0.01F) * x, x), kKeepsRange},
      {"Less", 13, kNumberTypes, x < y},
      {"LessOrEqual", 16, kNumberTypes, x <= y},
      {"Log", 13, kFloatTypes, Log(x)},
      {"Max", 13, kNumberTypes, Fold(P::kMax), kKeepsRange},
      {"Mean", 13, kFloatTypes, Fold(P::kAdd) / InputCount()},
      {"Min", 13, kNumberTypes, Fold(P::kMin), kKeepsRange},
      {"Mish", 22, kFloatTypes, x * Tanh(Softplus(x)), kKeepsRange},
      {"Mod", 28, kNumberTypes, Select(Attr("fmod", 0), TruncMod(x, y), FloorMod(x, y))},
      {"Mul", 14, kNumberTypes, x * y, kKeepsRange},
      {"Neg", 13, kSignedTypes, -x, kKeepsRange},
      {"Not", 1, kBool, Not(x)},
      {"Or", 7, kBool, Or(x, y)},
      {"PRelu", 16, kNumberTypes, Select(x < 0, y * x, x), kKeepsRange},
      {"Pow", 15, kNumberTypes, Pow(x, y)},
      {"Reciprocal", 13, kFloatTypes, E(1) / x},
      {"Relu", 14, kSignedTypes, Max(x, 0), kKeepsRange},
      {"Round", 22, kFloatTypes, Round(x)},
      {"Selu", 22, kFloatTypes,
       Attr("gamma", 1.05070102214813232F) *
           Select(x <= 0, Attr("alpha", 1.67326319217681885F) * Expm1(x), x),
       kKeepsRange},
      {"Shrink", 9, kNumberTypes,
       Select(x < -Attr("lambd", 0.5), x + Attr("bias", 0),
              Select(Attr("lambd", 0.5) < x, x - Attr("bias", 0), 0))},
      {"Sigmoid", 13, kFloatTypes, Sigmoid(x), kKeepsRange},
      {"Sign", 13, kNumberTypes, Sign(x)},
      {"Sin", 22, kFloatTypes, Sin(x)},
      {"Sinh", 22, kFloatTypes, Sinh(x)},
      {"Softplus", 22, kFloatTypes, Softplus(x), kKeepsRange},
      {"Softsign", 22, kFloatTypes, x / (E(1) + Abs(x)), kKeepsRange},
      {"Sqrt", 13, kFloatTypes, Sqrt(x)},
      {"Sub", 14, kNumberTypes, x - y, kKeepsRange},
      {"Sum", 13, kFloatTypes, Fold(P::kAdd), kKeepsRange},
      {"Swish", 24, kFloatTypes, x * Sigmoid(Attr("alpha", 1) * x), kKeepsRange},
      {"Tan", 22, kFloatTypes, Tan(x)},
      {"Tanh", 13, kFloatTypes, Tanh(x), kKeepsRange},
      {"ThresholdedRelu", 22, kFloatTypes, Select(Attr("alpha", 1) < x, x, 0), kKeepsRange},
      {"Where", 16, kBool, Select(x, y, In(2))},
      {"Xor", 7, kBool, Xor(x, y)},
  };
}

}  // namespace

const PointwiseRow* FindPointwise(std::string_view op) {
  static const auto& rows = *new std::vector<PointwiseRow>(MakeRows());
  auto row =
      std::lower_bound(rows.begin(), rows.end(), op,
                       [](const PointwiseRow& r, std::string_view name) { return r.op < name; });
  return row != rows.end() && row->op == op ? &*row : nullptr;
}

}  // namespace onnx_cudnn
