// The table of element-wise ops. See pointwise.h for what an Expression may hold.
#include <limits>

#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

using E = Expression;
using P = Primitive;

constexpr DTypeSet kBool = {DType::kBool};
constexpr DTypeSet kSignedTypes =
    kFloatTypes | DTypeSet{DType::kI8, DType::kI16, DType::kI32, DType::kI64};
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

E operator+(const E& a, const E& b) { return E::Apply(P::kAdd, {a, b}); }
E operator-(const E& a, const E& b) { return E::Apply(P::kSub, {a, b}); }
E operator*(const E& a, const E& b) { return E::Apply(P::kMul, {a, b}); }
E operator/(const E& a, const E& b) { return E::Apply(P::kDiv, {a, b}); }
E operator<(const E& a, const E& b) { return E::Apply(P::kLess, {a, b}); }
E operator<=(const E& a, const E& b) { return E::Apply(P::kLessOrEqual, {a, b}); }
E operator-(const E& a) { return E::Apply(P::kNeg, {a}); }

E Unary(Primitive p) { return E::Apply(p, {In(0)}); }
E Binary(Primitive p) { return E::Apply(p, {In(0), In(1)}); }
E Equal(const E& a, const E& b) { return E::Apply(P::kEqual, {a, b}); }
E Not(const E& a) { return E::Apply(P::kNot, {a}); }
E And(const E& a, const E& b) { return E::Apply(P::kAnd, {a, b}); }
E Or(const E& a, const E& b) { return E::Apply(P::kOr, {a, b}); }
E Max(const E& a, const E& b) { return E::Apply(P::kMax, {a, b}); }
E Min(const E& a, const E& b) { return E::Apply(P::kMin, {a, b}); }
E Abs(const E& a) { return E::Apply(P::kAbs, {a}); }
E Exp(const E& a) { return E::Apply(P::kExp, {a}); }
E Expm1(const E& a) { return E::Apply(P::kExpm1, {a}); }
E Erf(const E& a) { return E::Apply(P::kErf, {a}); }
E Tanh(const E& a) { return E::Apply(P::kTanh, {a}); }
E Sigmoid(const E& a) { return E::Apply(P::kSigmoid, {a}); }
E Select(const E& condition, const E& yes, const E& no) {
  return E::Apply(P::kSelect, {condition, yes, no});
}
E AtLeast(const E& a, int bound) { return Select(HasIn(bound), Max(a, In(bound)), a); }
E AtMost(const E& a, int bound) { return Select(HasIn(bound), Min(a, In(bound)), a); }
E Softplus(const E& a) {
  return Max(a, 0) + E::Apply(P::kLog1p, {Exp(-Abs(a))});
}  // does not overflow

E Gelu(const E& x) {
  constexpr double kSqrtHalf = 0.70710678118654752440, kSqrtTwoOverPi = 0.79788456080286535588;
  const E tanh = Tanh(E(kSqrtTwoOverPi) * (x + E(0.044715) * x * x * x));
  return E(0.5) * x * (E(1) + Select(AttrIs("approximate", "tanh"), tanh, Erf(x * E(kSqrtHalf))));
}

std::vector<PointwiseRow> MakeRows() {
  const E x = In(0), y = In(1);
  return {
      {"Abs", 13, kNumberTypes, Abs(x)},
      {"Acos", 22, kFloatTypes, Unary(P::kAcos)},
      {"Acosh", 22, kFloatTypes, Unary(P::kAcosh)},
      {"Add", 14, kNumberTypes, x + y},
      {"And", 7, kBool, And(x, y)},
      {"Asin", 22, kFloatTypes, Unary(P::kAsin)},
      {"Asinh", 22, kFloatTypes, Unary(P::kAsinh)},
      {"Atan", 22, kFloatTypes, Unary(P::kAtan)},
      {"Atanh", 22, kFloatTypes, Unary(P::kAtanh)},
      {"BitShift", 28, kIntegerTypes,
       Select(AttrIs("direction", "LEFT"), Binary(P::kShiftLeft), Binary(P::kShiftRight))},
      {"BitwiseAnd", 18, kIntegerTypes, Binary(P::kBitAnd)},
      {"BitwiseNot", 18, kIntegerTypes, E::Apply(P::kBitXor, {x, -1})},
      {"BitwiseOr", 18, kIntegerTypes, Binary(P::kBitOr)},
      {"BitwiseXor", 18, kIntegerTypes, Binary(P::kBitXor)},
      {"Cast", 28, kFixedSizeTypes, x},
      {"CastLike", 25, kFixedSizeTypes, x},
      {"Ceil", 13, kFloatTypes, Unary(P::kCeil)},
      {"Celu", 28, kFloatTypes, Max(x, 0) + Min(Attr("alpha", 1) * Expm1(x / Attr("alpha", 1)), 0)},
      {"Clip", 13, kNumberTypes, AtMost(AtLeast(x, 1), 2)},
      {"Cos", 22, kFloatTypes, Unary(P::kCos)},
      {"Cosh", 22, kFloatTypes, Unary(P::kCosh)},
      {"Div", 14, kNumberTypes, x / y},
      {"Elu", 22, kFloatTypes, Select(x < 0, Attr("alpha", 1) * Expm1(x), x)},
      {"Equal", 19, kFixedSizeTypes, Equal(x, y)},
      {"Erf", 13, kFloatTypes, Erf(x)},
      {"Exp", 13, kFloatTypes, Exp(x)},
      {"Floor", 13, kFloatTypes, Unary(P::kFloor)},
      {"Gelu", 20, kFloatTypes, Gelu(x)},
      {"Greater", 13, kNumberTypes, y < x},
      {"GreaterOrEqual", 16, kNumberTypes, y <= x},
      {"HardSigmoid", 22, kFloatTypes, Max(Min(Attr("alpha", 0.2F) * x + Attr("beta", 0.5), 1), 0)},
      {"HardSwish", 22, kFloatTypes, x * Max(Min(x / E(6) + E(0.5), 1), 0)},
      {"IsInf", 20, kFloatTypes,
       Or(And(Attr("detect_positive", 1), Equal(x, kInfinity)),
          And(Attr("detect_negative", 1), Equal(x, -kInfinity)))},
      {"IsNaN", 20, kFloatTypes, Not(Equal(x, x))},
      {"LeakyRelu", 16, kFloatTypes, Select(x < 0, Attr("alpha", 0.01F) * x, x)},
      {"Less", 13, kNumberTypes, x < y},
      {"LessOrEqual", 16, kNumberTypes, x <= y},
      {"Log", 13, kFloatTypes, Unary(P::kLog)},
      {"Max", 13, kNumberTypes, Fold(P::kMax)},
      {"Mean", 13, kFloatTypes, Fold(P::kAdd) / InputCount()},
      {"Min", 13, kNumberTypes, Fold(P::kMin)},
      {"Mish", 22, kFloatTypes, x * Tanh(Softplus(x))},
      {"Mod", 28, kNumberTypes,
       Select(Attr("fmod", 0), Binary(P::kTruncMod), Binary(P::kFloorMod))},
      {"Mul", 14, kNumberTypes, x * y},
      {"Neg", 13, kSignedTypes, -x},
      {"Not", 1, kBool, Not(x)},
      {"Or", 7, kBool, Or(x, y)},
      {"PRelu", 16, kNumberTypes, Select(x < 0, y * x, x)},
      {"Pow", 15, kNumberTypes, Binary(P::kPow)},
      {"Reciprocal", 13, kFloatTypes, E(1) / x},
      {"Relu", 14, kSignedTypes, Max(x, 0)},
      {"Round", 22, kFloatTypes, Unary(P::kRound)},
      {"Selu", 22, kFloatTypes,
       Attr("gamma", 1.05070102214813232F) *
           Select(x <= 0, Attr("alpha", 1.67326319217681885F) * Expm1(x), x)},
      {"Shrink", 9, kNumberTypes,
       Select(x < -Attr("lambd", 0.5), x + Attr("bias", 0),
              Select(Attr("lambd", 0.5) < x, x - Attr("bias", 0), 0))},
      {"Sigmoid", 13, kFloatTypes, Sigmoid(x)},
      {"Sign", 13, kNumberTypes, Unary(P::kSign)},
      {"Sin", 22, kFloatTypes, Unary(P::kSin)},
      {"Sinh", 22, kFloatTypes, Unary(P::kSinh)},
      {"Softplus", 22, kFloatTypes, Softplus(x)},
      {"Softsign", 22, kFloatTypes, x / (E(1) + Abs(x))},
      {"Sqrt", 13, kFloatTypes, Unary(P::kSqrt)},
      {"Sub", 14, kNumberTypes, x - y},
      {"Sum", 13, kFloatTypes, Fold(P::kAdd)},
      {"Swish", 24, kFloatTypes, x * Sigmoid(Attr("alpha", 1) * x)},
      {"Tan", 22, kFloatTypes, Unary(P::kTan)},
      {"Tanh", 13, kFloatTypes, Tanh(x)},
      {"ThresholdedRelu", 22, kFloatTypes, Select(Attr("alpha", 1) < x, x, 0)},
      {"Where", 16, kBool, Select(x, y, In(2))},
      {"Xor", 7, kBool, Binary(P::kXor)},
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
