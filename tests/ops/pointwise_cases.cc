#include "tests/ops/cases.h"

namespace onnx_cudnn {
namespace {

constexpr double kClose = 2e-6;

// Functions of one f32: the result for each value, within a few units in the last place.
OpCase Function(std::string op, const std::vector<double>& x, const std::vector<double>& y,
                Attrs attrs = {}) {
  return {.op = std::move(op),
          .inputs = {Row(x)},
          .attrs = std::move(attrs),
          .expected = {Row(y)},
          .tolerance = kClose};
}

void AddFunctions(std::vector<OpCase>& cases) {
  const std::vector<OpCase> functions = {
      Function("Abs", {-2, 0, 3, kNaN, -kInf}, {2, 0, 3, kNaN, kInf}),
      Function("Acos", {-1, 0, 1, 2}, {3.14159265358979, 1.57079632679490, 0, kNaN}),
      Function("Acosh", {1, 2, 0}, {0, 1.31695789692482, kNaN}),
      Function("Asin", {-1, 0.5}, {-1.57079632679490, 0.523598775598299}),
      Function("Asinh", {-1, 0, 2}, {-0.881373587019543, 0, 1.44363547517881}),
      Function("Atan", {-1, 0, kInf}, {-0.785398163397448, 0, 1.57079632679490}),
      Function("Atanh", {0.5, 0, 2}, {0.549306144334055, 0, kNaN}),
      Function("Ceil", {-1.5, 1.2, 3, kNaN}, {-1, 2, 3, kNaN}),
      Function("Celu", {-1, 0, 2}, {-0.786938680574733, 0, 2}, {{"alpha", 2.0F}}),
      Function("Cos", {0, 3.14159265358979}, {1, -1}),
      Function("Cosh", {0, 1}, {1, 1.54308063481524}),
      Function("Elu", {-1, 0, 2, kNaN}, {-1.26424111765712, 0, 2, kNaN}, {{"alpha", 2.0F}}),
      Function("Elu", {-1e-6, 1}, {-9.999995e-7, 1}),
      Function("Erf", {-1, 0, 0.5}, {-0.842700792949715, 0, 0.520499877813047}),
      Function("Exp", {-kInf, 0, 1, 1000, kNaN}, {0, 1, 2.71828182845905, kInf, kNaN}),
      Function("Floor", {-1.5, 1.8, 3}, {-2, 1, 3}),
      Function("Gelu", {-1, 0, 1, 3}, {-0.158655253931457, 0, 0.841344746068543, 2.99595030590511}),
      Function("Gelu", {-1, 0, 1}, {-0.158808009, 0, 0.841191991},
               {{"approximate", std::string("tanh")}}),
      Function("HardSigmoid", {-10, 0, 1, 10, kNaN}, {0, 0.5, 0.7, 1, kNaN}),
      Function("HardSigmoid", {1}, {0.75}, {{"alpha", 0.5F}, {"beta", 0.25F}}),
      Function("HardSwish", {-4, -1, 0, 1, 4}, {0, -0.333333333333333, 0, 0.666666666666667, 4}),
      Function("LeakyRelu", {-2, 0, 3, kNaN}, {-0.02, 0, 3, kNaN}),
      Function("LeakyRelu", {-2}, {-0.5}, {{"alpha", 0.25F}}),
      Function("Log", {1, 0, -1, 7.38905609893065}, {0, -kInf, kNaN, 2}),
      Function("Mish", {-1, 0, 1, 100}, {-0.303401461, 0, 0.865098388, 100}),
      Function("Neg", {-1, 2, kInf}, {1, -2, -kInf}),
      Function("Reciprocal", {4, -0.5, kInf}, {0.25, -2, 0}),
      Function("Relu", {-1, 0, 2, kNaN, -kInf}, {0, 0, 2, kNaN, 0}),
      Function("Round", {0.5, 1.5, 2.5, -0.5, -1.5, 1.2}, {0, 2, 2, 0, -2, 1}),
      Function("Selu", {-1, 0, 1}, {-1.11133073, 0, 1.05070098}),
      Function("Shrink", {-2, -0.5, 0, 0.5, 2}, {-1.75, 0, 0, 0, 1.75},
               {{"bias", 0.25F}, {"lambd", 1.0F}}),
      Function("Sigmoid", {-1000, 0, 1, 1000, kNaN}, {0, 0.5, 0.731058578630005, 1, kNaN}),
      Function("Sign", {-3, 0, 5}, {-1, 0, 1}),
      Function("Sin", {0, 1.57079632679490}, {0, 1}),
      Function("Sinh", {0, 1}, {0, 1.17520119364380}),
      Function("Softplus", {-1000, 0, 1, 1000}, {0, 0.693147180559945, 1.31326168751822, 1000}),
      Function("Softsign", {-1, 0, 3}, {-0.5, 0, 0.75}),
      Function("Sqrt", {4, 2, -1}, {2, 1.41421356237310, kNaN}),
      Function("Swish", {-1, 0, 2}, {-0.268941421369995, 0, 1.76159415595576}),
      Function("Swish", {1}, {0.880797077977882}, {{"alpha", 2.0F}}),
      Function("Tan", {0, 1}, {0, 1.55740772465490}),
      Function("Tanh", {-1000, 0, 1}, {-1, 0, 0.761594155955765}),
      Function("ThresholdedRelu", {0.5, 1, 1.5}, {0, 0, 1.5}),
  };
  cases.insert(cases.end(), functions.begin(), functions.end());
}

void AddArithmetic(std::vector<OpCase>& cases) {
  const HostTensor column = F32({2, 1}, {10, 20}), row = Row({1, 2, 3}), one = F32({}, {1});
  const HostTensor i8 = TensorOf(DType::kI8, {2}, {127, -128}),
                   i8_one = TensorOf(DType::kI8, {2}, {1, -1});
  const std::vector<OpCase> arithmetic = {
      {"Add", {column, row}, {}, {F32({2, 3}, {11, 12, 13, 21, 22, 23})}},
      {"Add", {row, one}, {}, {Row({2, 3, 4})}},
      {"Add", {one, one}, {}, {F32({}, {2})}},
      {"Add", {F32({0, 3}, {}), row}, {}, {F32({0, 3}, {})}},
      {"Add",
       {F32({2, 2, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), F32({2, 1, 1}, {10, 20})},
       {},
       {F32({2, 2, 1, 2}, {10, 11, 22, 23, 14, 15, 26, 27})}},
      {"Add", {i8, i8_one}, {}, {TensorOf(DType::kI8, {2}, {-128, 127})}},
      {"Add",
       {TensorOf(DType::kF16, {2}, {1024, 2048}), TensorOf(DType::kF16, {2}, {0.5, 1})},
       {},
       {TensorOf(DType::kF16, {2}, {1024, 2048})}},  // halves go to even
      {"Add",
       {TensorOf(DType::kBF16, {1}, {256}), TensorOf(DType::kBF16, {1}, {3})},
       {},
       {TensorOf(DType::kBF16, {1}, {260})}},
      {"Sub", {column, row}, {}, {F32({2, 3}, {9, 8, 7, 19, 18, 17})}},
      {"Mul", {column, row}, {}, {F32({2, 3}, {10, 20, 30, 20, 40, 60})}},
      {"Div", {row, Row({2, 0, -2})}, {}, {Row({0.5, kInf, -1.5})}},
      {"Div", {RowI({7, -7, 5}), RowI({2, 2, 0})}, {}, {RowI({3, -3, 0})}},
      {"Div",
       {TensorOf(DType::kI32, {1}, {-2147483648.0}), TensorOf(DType::kI32, {1}, {-1})},
       {},
       {TensorOf(DType::kI32, {1}, {-2147483648.0})}},
      {"Mod", {RowI({7, -7, 7, -7, 1}), RowI({3, 3, -3, -3, 0})}, {}, {RowI({1, 2, -2, -1, 0})}},
      {"Mod",
       {RowI({7, -7, 7, -7}), RowI({3, 3, -3, -3})},
       {{"fmod", int64_t{1}}},
       {RowI({1, -1, 1, -1})}},
      {"Mod", {Row({5.5, -5.5, kNaN}), Row({2, 2, 2})}, {}, {Row({1.5, 0.5, kNaN})}},
      {"Mod", {Row({5.5, -5.5}), Row({2, 2})}, {{"fmod", int64_t{1}}}, {Row({1.5, -1.5})}},
      {"Shrink",  // by fractions, cut off at the end
       {U8({5}, {0, 1, 2, 4, 255})},
       {{"bias", 1.5F}, {"lambd", 1.5F}},
       {U8({5}, {0, 0, 0, 2, 253})}},
      {"Shrink",
       {RowI({-4, -2, 1, 3, 10})},
       {{"bias", 0.5F}, {"lambd", 2.0F}},
       {RowI({-3, 0, 0, 2, 9})}},
  };
  cases.insert(cases.end(), arithmetic.begin(), arithmetic.end());
}

void AddPowersAndExtremes(std::vector<OpCase>& cases) {
  const HostTensor row = Row({1, 2, 3}), one = F32({}, {1});
  const std::vector<OpCase> added = {
      {"Pow", {Row({2, 3, 4, -2}), Row({3, 2, 0.5, 3})}, {}, {Row({8, 9, 2, -8})}},
      {"Pow", {Row({2, 3}), RowI({-1, 2})}, {}, {Row({0.5, 9})}},
      {"Pow", {RowI({2, -1, 3, 2}), RowI({10, -3, 0, -1})}, {}, {RowI({1024, -1, 1, 0})}},
      {"Pow", {RowI({9, 2}), Row({0.5, 3})}, {}, {RowI({3, 8})}},
      {"PRelu",
       {F32({2, 2}, {-1, 2, -3, 4}), Row({0.5, 2})},
       {},
       {F32({2, 2}, {-0.5, 2, -1.5, 4})}},
      {"Max", {Row({1, kNaN, 3}), Row({2, 1, kNaN}), one}, {}, {Row({2, kNaN, kNaN})}},
      {"Max", {row}, {}, {row}},
      {"Max",
       {TensorOf(DType::kU64, {2}, {9.3e18, 1}), TensorOf(DType::kU64, {2}, {1, 2})},
       {},
       {TensorOf(DType::kU64, {2}, {9.3e18, 2})}},
      {"Min", {Row({1, kNaN, 3}), Row({2, 1, kNaN})}, {}, {Row({1, kNaN, kNaN})}},
      {"Mean", {Row({1, 2}), Row({3, 4}), Row({5, 9})}, {}, {Row({3, 5})}},
      {"Sum", {Row({1, 2}), F32({}, {10}), Row({5, 9})}, {}, {Row({16, 21})}},
      {"Clip", {Row({-5, 0, 5, kNaN}), F32({}, {-1}), F32({}, {2})}, {}, {Row({-1, 0, 2, kNaN})}},
      {"Clip", {Row({-5, 5}), HostTensor(), F32({}, {2})}, {}, {Row({-5, 2})}},
      {"Clip", {Row({-5, 5}), F32({}, {-1})}, {}, {Row({-1, 5})}},
      {"Clip", {Row({-5, 5})}, {}, {Row({-5, 5})}},
      {"Clip", {RowI({1, 5, 9}), I64({}, {7}), I64({}, {3})}, {}, {RowI({3, 3, 3})}},
  };
  cases.insert(cases.end(), added.begin(), added.end());
}

void AddLogic(std::vector<OpCase>& cases) {
  const HostTensor p = RowB({0, 0, 1, 1}), q = RowB({0, 1, 0, 1});
  const HostTensor x = Row({1, 2, 3, kNaN}), y = Row({2, 2, 2, kNaN});
  const std::vector<OpCase> logic = {
      {"And", {p, q}, {}, {RowB({0, 0, 0, 1})}},
      {"Or", {p, q}, {}, {RowB({0, 1, 1, 1})}},
      {"Xor", {p, q}, {}, {RowB({0, 1, 1, 0})}},
      {"Not", {p}, {}, {RowB({1, 1, 0, 0})}},
      {"Equal", {x, y}, {}, {RowB({0, 1, 0, 0})}},
      {"Equal", {p, q}, {}, {RowB({1, 0, 0, 1})}},
      {"Equal",
       {TensorOf(DType::kI64, {1}, {9007199254740992.0}), I64({}, {9007199254740992.0})},
       {},
       {RowB({1})}},
      {"Greater", {x, y}, {}, {RowB({0, 0, 1, 0})}},
      {"GreaterOrEqual", {x, y}, {}, {RowB({0, 1, 1, 0})}},
      {"Less", {x, y}, {}, {RowB({1, 0, 0, 0})}},
      {"Less",
       {TensorOf(DType::kU64, {1}, {1}), TensorOf(DType::kU64, {1}, {1.8e19})},
       {},
       {RowB({1})}},
      {"LessOrEqual", {x, F32({}, {2})}, {}, {RowB({1, 1, 0, 0})}},
      {"IsNaN", {Row({0, kNaN, kInf})}, {}, {RowB({0, 1, 0})}},
      {"IsInf", {Row({0, kNaN, kInf, -kInf})}, {}, {RowB({0, 0, 1, 1})}},
      {"IsInf", {Row({kInf, -kInf})}, {{"detect_negative", int64_t{0}}}, {RowB({1, 0})}},
      {"IsInf", {Row({kInf, -kInf})}, {{"detect_positive", int64_t{0}}}, {RowB({0, 1})}},
      {"Where",
       {Bools({2, 1}, {1, 0}), Row({1, 2}), F32({}, {kNaN})},
       {},
       {F32({2, 2}, {1, 2, kNaN, kNaN})}},
      {"Where", {RowB({1, 0}), RowI({1, 2}), RowI({3, 4})}, {}, {RowI({1, 4})}},
      {"Where", {RowB({1, 0}), RowB({1, 1}), RowB({0, 0})}, {}, {RowB({1, 0})}},
      {"BitShift",
       {U8({3}, {1, 128, 3}), U8({3}, {1, 1, 9})},
       {{"direction", std::string("LEFT")}},
       {U8({3}, {2, 0, 0})}},
      {"BitShift",
       {I64({4}, {-8, 5, -1, 5}), I64({4}, {1, 64, -1, 1})},
       {{"direction", std::string("RIGHT")}},
       {I64({4}, {-4, 0, -1, 2})}},
      {"BitwiseAnd", {I32({2}, {12, -1}), I32({2}, {10, 7})}, {}, {I32({2}, {8, 7})}},
      {"BitwiseOr", {I32({2}, {12, 1}), I32({2}, {10, -2})}, {}, {I32({2}, {14, -1})}},
      {"BitwiseXor", {I32({1}, {12}), I32({1}, {10})}, {}, {I32({1}, {6})}},
      {"BitwiseNot",
       {TensorOf(DType::kU8, {2}, {0, 5})},
       {},
       {TensorOf(DType::kU8, {2}, {255, 250})}},
  };
  cases.insert(cases.end(), logic.begin(), logic.end());
}

OpCase CastTo(HostTensor from, HostTensor to) {
  const auto dtype = static_cast<int64_t>(to.dtype());
  return {.op = "Cast",
          .inputs = {std::move(from)},
          .attrs = {{"to", dtype}},
          .expected = {std::move(to)}};
}

void AddCasts(std::vector<OpCase>& cases) {
  const std::vector<OpCase> casts = {
      CastTo(Row({-1.9, 1.9, 0}), RowI({-1, 1, 0})),
      CastTo(Row({-1.5, 0, kNaN}), RowB({1, 0, 1})),
      CastTo(RowB({1, 0}), Row({1, 0})),
      CastTo(RowI({-1, 300, 2}), TensorOf(DType::kU8, {3}, {255, 44, 2})),
      CastTo(RowI({-1, 0, 7}), RowB({1, 0, 1})),
      CastTo(Row({2049, 65520, 1e-8}), TensorOf(DType::kF16, {3}, {2048, kInf, 0})),
      CastTo(TensorOf(DType::kF16, {2}, {1.5, kInf}), Row({1.5, kInf})),
      CastTo(TensorOf(DType::kF64, {1}, {1.0 + 0x1p-11 + 0x1p-30}),
             TensorOf(DType::kF16, {1}, {1.0 + 0x1p-10})),
      CastTo(Row({258}), TensorOf(DType::kBF16, {1}, {258})),
      CastTo(TensorOf(DType::kF64, {2}, {0.1, 1e300}), Row({0.1, kInf})),
      CastTo(RowI({9007199254740991}), TensorOf(DType::kF64, {1}, {9007199254740991})),
      CastTo(TensorOf(DType::kU64, {1}, {1.8e19}), TensorOf(DType::kF64, {1}, {1.8e19})),
      CastTo(TensorOf(DType::kF64, {1}, {1.8e19}), TensorOf(DType::kU64, {1}, {1.8e19})),
      CastTo(F32({0}, {}), I64({0}, {})),
      {"CastLike", {Row({1.9, -2}), I32({}, {0})}, {}, {I32({2}, {1, -2})}},
  };
  cases.insert(cases.end(), casts.begin(), casts.end());
}

}  // namespace

std::vector<OpCase> PointwiseCases() {
  std::vector<OpCase> cases;
  AddFunctions(cases);
  AddArithmetic(cases);
  AddPowersAndExtremes(cases);
  AddLogic(cases);
  AddCasts(cases);
  return cases;
}

}  // namespace onnx_cudnn
