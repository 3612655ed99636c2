// The forms of opsets 1 to 5.
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "runtime/base/status.h"
#include "runtime/import/names.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {
namespace {

bool IsConstantNumber(const Value* value) {
  return value != nullptr && value->is_constant() && value->constant().elements() == 1 &&
         value->dtype() == DType::kF32;
}

}  // namespace

// The type had a name: "FLOAT".
absl::Status UpgradeCast6(Form& form) {
  const std::string name = form.spec.attrs.String("to", "");
  onnx::TensorProto::DataType type;
  if (!onnx::TensorProto::DataType_Parse(name, &type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute \"to\" is ", Quoted(name), ", which is no type"));
  }
  form.spec.attrs.Set("to", static_cast<int64_t>(type));
  return absl::OkStatus();
}

absl::Status UpgradeConcat4(Form& form) {
  if (!form.spec.attrs.Has("axis")) form.spec.attrs.Set("axis", int64_t{1});
  return absl::OkStatus();
}

// The exponent was a float.
absl::Status UpgradeLpPool2(Form& form) {
  if (form.spec.op == "LpPool" && !form.spec.attrs.Has("kernel_shape")) {
    return form.Unimplemented("attribute \"kernel_shape\" is missing");
  }
  const float* p = form.spec.attrs.Get<float>("p");
  if (p == nullptr) return absl::OkStatus();
  if (!(*p >= 1 && *p <= 1000) || *p != std::floor(*p)) {
    return form.Unimplemented(absl::StrCat("attribute \"p\" is ", *p, ", no small integer"));
  }
  form.spec.attrs.Set("p", static_cast<int64_t>(*p));
  return absl::OkStatus();
}

absl::Status UpgradePad2(Form& form) {
  form.spec.attrs.Set("pads", form.spec.attrs.Ints("paddings"));
  form.spec.attrs.Remove("paddings");
  return absl::OkStatus();
}

absl::Status UpgradeReshape5(Form& form) {
  if (!form.spec.attrs.Has("shape")) {
    return absl::InvalidArgumentError("attribute \"shape\" is missing");
  }
  form.IntsToInput("shape", 1);
  return absl::OkStatus();
}

absl::Status UpgradeSelu6(Form& form) {
  if (!form.spec.attrs.Has("alpha")) form.spec.attrs.Set("alpha", 1.6732F);
  if (!form.spec.attrs.Has("gamma")) form.spec.attrs.Set("gamma", 1.0507F);
  return absl::OkStatus();
}

// The lengths could be an input, of the type of the data.
absl::Status UpgradeSplit2(Form& form) {
  if (form.input(1) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(Value * lengths,
                   form.Append({.op = "Cast",
                                .inputs = {form.input(1)},
                                .attrs = {{"to", static_cast<int64_t>(DType::kI64)}}}));
  form.SetInput(1, lengths);
  form.spec.attrs.Remove("split");
  return absl::OkStatus();
}

// Repeated along one axis; the count and the axis had the type of the data.
absl::Status UpgradeTile6(Form& form) {
  const Type& type = form.input(0)->type();
  if (!type.ranked || !IsConstantNumber(form.input(1)) || !IsConstantNumber(form.input(2))) {
    return form.Unimplemented(
        "\"tiles\" and \"axis\" must be constants in f32, and the rank must be known");
  }
  const float count = form.input(1)->constant().data<float>()[0];
  const float axis = form.input(2)->constant().data<float>()[0];
  constexpr float kMost = 1 << 24;
  const auto is_below = [](float x, float end) { return x >= 0 && x < end && x == std::floor(x); };
  if (!is_below(count, kMost) || !is_below(axis, static_cast<float>(type.dims.size()))) {
    return absl::InvalidArgumentError(absl::StrCat(
        count, " tiles along axis ", axis, " do not fit an input of rank ", type.dims.size()));
  }
  std::vector<int64_t> repeats(type.dims.size(), 1);
  repeats[static_cast<size_t>(axis)] = static_cast<int64_t>(count);
  form.spec.inputs = {form.input(0), &form.Ints(repeats)};
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
