// Quantized ops of com.microsoft that are computed in f32.
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/import/contrib_rules.h"

namespace onnx_cudnn {
namespace {

HostTensor Zero(DType dtype) {
  HostTensor zero = HostTensor::Allocate(dtype, {});
  zero.mutable_data<uint8_t>()[0] = 0;
  return zero;
}

// Input `i` with its scale and zero point behind it, in f32.
Value& DequantizedInput(Expansion& x, int i) {
  return Dequantized(x, x.in(i), x.in(i + 1), x.Optional(i + 2));
}

// Gives output 0 with the scale and the zero point that are inputs `i` and `i` + 1.
void GiveAs(Expansion& x, Value& v, int i, DType dtype) {
  GiveQuantized(x, v, x.in(i), x.Optional(i + 1), dtype);
}

// op(a, b) of the first six inputs.
void Binary(Expansion& x, const std::string& op) {
  Value& y = x.Op(op, {&DequantizedInput(x, 0), &DequantizedInput(x, 3)});
  GiveAs(x, y, 6, x.in(0).dtype());
}

// op(v) of the first three inputs.
void Unary(Expansion& x, const std::string& op, Attrs attrs = {}) {
  GiveAs(x, x.Op(op, {&DequantizedInput(x, 0)}, std::move(attrs)), 3, x.in(0).dtype());
}

// Pools the spatial axes of input 0.
void Pool(Expansion& x, const std::string& op, Attrs attrs) {
  const bool channels_last = x.Flag("channels_last");
  Value& v = DequantizedInput(x, 0);
  const int rank = x.Rank(v);
  if (rank < 3) x.FailInvalid(absl::StrCat("expected rank 3 or more, found ", rank));
  if (!x.ok()) return;
  Value& first = channels_last ? x.Transpose(v, ChannelsFirst(rank)) : v;
  Value& pooled = x.Op(op, {&first}, std::move(attrs));
  Value& y = channels_last ? x.Transpose(pooled, ChannelsLast(rank)) : pooled;
  GiveAs(x, y, 3, x.in(0).dtype());
}

}  // namespace

Value& Dequantized(Expansion& x, Value& v, Value& scale, Value* zero_point) {
  std::vector<Value*> inputs = {&v, &x.Scalar(scale)};
  if (zero_point != nullptr) inputs.push_back(&x.Scalar(*zero_point));
  return x.Op("DequantizeLinear", std::move(inputs));
}

void GiveQuantized(Expansion& x, Value& v, Value& scale, Value* zero_point, DType dtype) {
  Value& zero = zero_point == nullptr ? x.Constant(Zero(dtype)) : x.Scalar(*zero_point);
  x.Result(0, "QuantizeLinear", {&v, &x.Scalar(scale), &zero});
}

void ExpandQLinearAdd(Expansion& x) { Binary(x, "Add"); }
void ExpandQLinearMul(Expansion& x) { Binary(x, "Mul"); }
void ExpandQLinearSigmoid(Expansion& x) { Unary(x, "Sigmoid"); }

void ExpandQLinearLeakyRelu(Expansion& x) {
  Unary(x, "LeakyRelu", {{"alpha", x.Float("alpha", 0.01f)}});
}

void ExpandQLinearConcat(Expansion& x) {
  if (x.inputs() < 5 || x.inputs() % 3 != 2) {
    return x.FailInvalid(absl::StrCat("has ", x.inputs(), " inputs, expected 2 and 3 each"));
  }
  std::vector<Value*> parts;
  for (int i = 2; i < x.inputs(); i += 3) parts.push_back(&DequantizedInput(x, i));
  Value& y = x.Concat(std::move(parts), x.RequiredInt("axis"));
  GiveAs(x, y, 0, x.in(1).dtype());
}

// Before opset 13, Softmax took all axes from `axis` on as one.
void ExpandQLinearSoftmax(Expansion& x) {
  const int64_t axis = x.Int("axis", -1);
  const bool takes_all = x.RequiredInt("opset") < 13;
  if (!takes_all) return Unary(x, "Softmax", {{"axis", axis}});
  Value& v = DequantizedInput(x, 0);
  Value& rows = x.Op("Flatten", {&v}, {{"axis", axis}});
  Value& softmax = x.Op("Softmax", {&rows}, {{"axis", int64_t{-1}}});
  GiveAs(x, x.Op("Reshape", {&softmax, &x.Op("Shape", {&v})}), 3, x.in(0).dtype());
}

void ExpandQLinearReduceMean(Expansion& x) {
  Value& v = DequantizedInput(x, 0);
  Value& axes = x.Integers(x.Ints("axes"));
  GiveAs(x, x.Op("ReduceMean", {&v, &axes}, x.Take({"keepdims"})), 3, x.in(0).dtype());
}

void ExpandQLinearWhere(Expansion& x) {
  Value& y = x.Op("Where", {&x.in(0), &DequantizedInput(x, 1), &DequantizedInput(x, 4)});
  GiveAs(x, y, 7, x.in(1).dtype());
}

void ExpandQLinearGlobalAveragePool(Expansion& x) { Pool(x, "GlobalAveragePool", {}); }

void ExpandQLinearAveragePool(Expansion& x) {
  Pool(x, "AveragePool",
       x.Take({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}));
}

// Without the attribute `axis` there is one scale.
void ExpandDequantizeLinear(Expansion& x) {
  if (!x.HasAttr("axis")) {
    std::vector<Value*> inputs = {&x.in(0), &x.Scalar(x.in(1))};
    if (Value* zero = x.Optional(2)) inputs.push_back(&x.Scalar(*zero));
    return x.Result(0, "DequantizeLinear", std::move(inputs));
  }
  std::vector<Value*> inputs = {&x.in(0), &x.in(1)};
  if (Value* zero = x.Optional(2)) inputs.push_back(zero);
  x.Result(0, "DequantizeLinear", std::move(inputs), x.Take({"axis"}));
}

void ExpandQuantizeLinear(Expansion& x) {
  if (!x.HasAttr("axis")) {
    return GiveQuantized(x, x.in(0), x.in(1), x.Optional(2), DType::kU8);
  }
  std::vector<Value*> inputs = {&x.in(0), &x.in(1)};
  if (Value* zero = x.Optional(2)) inputs.push_back(zero);
  x.Result(0, "QuantizeLinear", std::move(inputs), x.Take({"axis"}));
}

}  // namespace onnx_cudnn
