#include "runtime/import/expansion.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/import/names.h"
#include "runtime/import/upgrade.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

std::string NameOfAttribute(std::string_view name) {
  return absl::StrCat("attribute ", Quoted(name));
}

}  // namespace

Expansion::Expansion(Graph& graph, ShapeInference& inference, NodeSpec spec)
    : graph_(graph),
      inference_(inference),
      spec_(std::move(spec)),
      given_(spec_.outputs.size()),
      read_(spec_.inputs.size()) {}

std::string Expansion::Form() const {
  return FormOf(Short(spec_.domain), Short(spec_.op), spec_.opset, spec_.inputs);
}

void Expansion::Refuse(std::string_view reason) {
  Fail(absl::UnimplementedError(absl::StrCat(Form(), ": ", reason)));
}

void Expansion::FailInvalid(std::string_view reason) {
  Fail(absl::InvalidArgumentError(absl::StrCat(Form(), ": ", reason)));
}

absl::StatusOr<std::vector<Value*>> Expansion::Finish() && {
  for (const auto& [name, value] : spec_.attrs) {
    if (!asked_.contains(name)) {
      Refuse(absl::StrCat(NameOfAttribute(name), " = ", Short(ToString(value)),
                          " is not implemented"));
    }
  }
  for (int i = 0; i < inputs(); ++i) {
    if (Has(i) && !read_[i]) Refuse(absl::StrCat("input ", i, " is not implemented"));
  }
  for (size_t i = 0; i < given_.size(); ++i) {
    if (!spec_.outputs[i].empty() && given_[i] == nullptr) {
      Refuse(absl::StrCat("output ", i, " is not implemented"));
    }
  }
  if (!status_.ok()) return status_;
  return std::move(given_);
}

Value& Expansion::in(int i) {
  if (Value* v = Optional(i)) return *v;
  FailInvalid(absl::StrCat("input ", i, " is missing"));
  return Number(0, DType::kF32);
}

Value* Expansion::Optional(int i) {
  if (!Has(i)) return nullptr;
  read_[i] = true;
  return spec_.inputs[i];
}

bool Expansion::Wants(int i) const {
  return i < static_cast<int>(spec_.outputs.size()) && !spec_.outputs[i].empty();
}

const Attribute* Expansion::Ask(std::string_view name) {
  asked_.insert(std::string(name));
  return spec_.attrs.Find(name);
}

template <typename T>
T Expansion::Get(std::string_view name, T otherwise) {
  const Attribute* attribute = Ask(name);
  if (attribute == nullptr) return otherwise;
  if (const T* value = std::get_if<T>(attribute)) return *value;
  FailInvalid(absl::StrCat(NameOfAttribute(name), " = ", Short(ToString(*attribute)),
                           " is of another type than the op's"));
  return otherwise;
}

int64_t Expansion::Int(std::string_view name, int64_t otherwise) { return Get(name, otherwise); }
float Expansion::Float(std::string_view name, float otherwise) { return Get(name, otherwise); }
std::string Expansion::String(std::string_view name, std::string_view otherwise) {
  return Get(name, std::string(otherwise));
}
std::vector<int64_t> Expansion::Ints(std::string_view name) {
  return Get(name, std::vector<int64_t>());
}
std::vector<float> Expansion::Floats(std::string_view name) {
  return Get(name, std::vector<float>());
}

bool Expansion::Flag(std::string_view name, bool otherwise) {
  const int64_t value = Int(name, otherwise ? 1 : 0);
  if (value != 0 && value != 1) {
    FailInvalid(absl::StrCat(NameOfAttribute(name), " = ", value, ", expected 0 or 1"));
  }
  return value == 1;
}

int64_t Expansion::RequiredInt(std::string_view name) {
  if (!HasAttr(name)) FailInvalid(absl::StrCat(NameOfAttribute(name), " is missing"));
  return Int(name, 1);
}

void Expansion::Only(std::string_view name, int64_t value) {
  const int64_t found = Int(name, value);
  if (found == value) return;
  Refuse(absl::StrCat(NameOfAttribute(name), " = ", found, " is not implemented"));
}

Attrs Expansion::Take(std::initializer_list<std::string_view> names) {
  Attrs attrs;
  for (std::string_view name : names) {
    if (const Attribute* attribute = Ask(name)) attrs.Set(name, *attribute);
  }
  return attrs;
}

int Expansion::Rank(const Value& v) {
  if (!v.type().is_tensor() || !v.type().ranked) {
    Refuse(absl::StrCat("the rank of ", Quoted(v.name()), " is not known"));
  }
  return v.rank();
}

const Dim* Expansion::DimOf(const Value& v, int axis) {
  if (!v.type().is_tensor() || !v.type().ranked) return nullptr;
  const int at = axis < 0 ? axis + v.rank() : axis;
  return at >= 0 && at < v.rank() ? &v.type().dims[at] : nullptr;
}

int64_t Expansion::Extent(const Value& v, int axis) {
  const Dim* dim = DimOf(v, axis);
  if (dim != nullptr && dim->value >= 0) return dim->value;
  Refuse(absl::StrCat("extent ", axis, " of ", Quoted(v.name()), " is not a number"));
  return 1;
}

bool Expansion::SameExtent(const Value& a, int axis_a, const Value& b, int axis_b) {
  const Dim *one = DimOf(a, axis_a), *other = DimOf(b, axis_b);
  if (one == nullptr || other == nullptr || !(*one == *other)) return false;
  return one->value >= 0 || !one->symbol.empty();
}

Value& Expansion::Scalar(Value& v) {
  if (v.type().is_tensor() && v.type().ranked && v.rank() == 0) return v;
  if (v.is_static() && v.elements() != 1) {
    FailInvalid(absl::StrCat(Quoted(v.name()), " has ", v.elements(), " elements, expected 1"));
  }
  return Reshape(v, {});
}

Value& Expansion::Number(double number, DType dtype) {
  if (dtype == DType::kF64) {
    return Constant(HostTensor::Of<double>(DType::kF64, {}, {number}));
  }
  if (dtype == DType::kI64) {
    return Constant(HostTensor::Of<int64_t>(DType::kI64, {}, {static_cast<int64_t>(number)}));
  }
  return Cast(Constant(HostTensor::Of<float>(DType::kF32, {}, {static_cast<float>(number)})),
              dtype);
}

Value& Expansion::Integers(std::vector<int64_t> values) {
  return Constant(HostTensor::Ints(values));
}

void Expansion::Append(NodeSpec spec, std::vector<Value*>& outputs) {
  if (!ok()) return;
  if (spec.name.empty()) spec.name = spec_.name;
  auto appended = AppendNode(graph_, inference_, std::move(spec));
  Fail(appended.status());
  if (appended.ok()) outputs = *std::move(appended);
}

std::vector<Value*> Expansion::Outputs(std::string op, std::vector<Value*> inputs, Attrs attrs,
                                       int count) {
  std::vector<Value*> outputs(count, inputs[0]);
  Append({.op = std::move(op),
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .outputs = std::vector<std::string>(count, "*")},
         outputs);
  return outputs;
}

Value& Expansion::Op(std::string op, std::vector<Value*> inputs, Attrs attrs) {
  return *Outputs(std::move(op), std::move(inputs), std::move(attrs), 1)[0];
}

Value& Expansion::Scaled(Value& v, double factor) { return Mul(v, Number(factor, v.dtype())); }

Value& Expansion::Cast(Value& v, DType dtype) {
  if (v.dtype() == dtype) return v;
  return Op("Cast", {&v}, {{"to", static_cast<int64_t>(dtype)}});
}

Value& Expansion::Transpose(Value& v, std::vector<int64_t> perm) {
  return Op("Transpose", {&v}, {{"perm", std::move(perm)}});
}

Value& Expansion::Reshape(Value& v, std::vector<int64_t> dims) {
  return Op("Reshape", {&v, &Integers(std::move(dims))});
}

Value& Expansion::Unsqueeze(Value& v, std::vector<int64_t> axes) {
  return Op("Unsqueeze", {&v, &Integers(std::move(axes))});
}

Value& Expansion::Slice(Value& v, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  return Op("Slice",
            {&v, &Integers({begin}), &Integers({end}), &Integers({axis}), &Integers({step})});
}

Value& Expansion::Concat(std::vector<Value*> values, int64_t axis) {
  return Op("Concat", std::move(values), {{"axis", axis}});
}

Value& Expansion::ExtentOf(Value& v, int axis) {
  Attrs attrs = {{"start", int64_t{axis}}};
  if (axis != -1) attrs.Set("end", int64_t{axis} + 1);
  return Op("Shape", {&v}, std::move(attrs));
}

Value& Expansion::CountTo(Value& extent) {
  Value& count = Op("Squeeze", {&extent, &Integers({0})});
  return Op("Range", {&Number(0, DType::kI64), &count, &Number(1, DType::kI64)});
}

std::vector<Value*> Expansion::Split(Value& v, int64_t axis, std::vector<int64_t> sizes) {
  const int count = static_cast<int>(sizes.size());
  return Outputs("Split", {&v, &Integers(std::move(sizes))}, {{"axis", axis}}, count);
}

void Expansion::Give(int i, Value& value) {
  if (Wants(i)) given_[i] = &value;
}

void Expansion::Result(int i, std::string op, std::vector<Value*> inputs, Attrs attrs) {
  std::vector<Value*> outputs = {inputs[0]};
  Append({.op = std::move(op),
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .outputs = {Wants(i) ? spec_.outputs[i] : "*"}},
         outputs);
  Give(i, *outputs[0]);
}

void Expansion::Keep() {
  if (!ok()) return;
  auto appended = AppendCustomNode(graph_, inference_,
                                   {.op = spec_.op,
                                    .inputs = spec_.inputs,
                                    .attrs = spec_.attrs,
                                    .outputs = spec_.outputs,
                                    .domain = spec_.domain,
                                    .name = spec_.name,
                                    .opset = spec_.opset});
  Fail(appended.status());
  if (appended.ok()) given_ = *std::move(appended);
}

}  // namespace onnx_cudnn
