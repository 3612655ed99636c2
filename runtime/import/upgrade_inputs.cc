#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/float16.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {
namespace {

// `value` as a scalar with the dtype of input 0.
absl::StatusOr<Value*> ScalarLikeInput(Form& form, std::string_view attribute, float value) {
  switch (form.input(0)->dtype()) {
    case DType::kF32:
      return &form.Scalar(value);
    case DType::kF64:
      return &form.graph.AddConstant(HostTensor::Of<double>(DType::kF64, {}, {value}));
    case DType::kF16:
      return &form.graph.AddConstant(HostTensor::Of<Float16>(DType::kF16, {}, {ToFloat16(value)}));
    default:
      return form.Unimplemented(
          absl::StrCat("attribute \"", attribute, "\" needs an input of a known float type"));
  }
}

// Moves attribute `name`, a float, to input `i`, with the dtype of input 0.
absl::Status FloatToInput(Form& form, std::string_view name, size_t i) {
  const float* value = form.spec.attrs.Get<float>(name);
  if (value == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(Value * scalar, ScalarLikeInput(form, name, *value));
  form.SetInput(i, scalar);
  form.spec.attrs.Remove(name);
  return absl::OkStatus();
}

}  // namespace

absl::Status UpgradeAxesToInput(Form& form) {
  form.IntsToInput("axes", 1);
  return absl::OkStatus();
}

absl::Status UpgradeSlice10(Form& form) {
  form.IntsToInput("starts", 1);
  form.IntsToInput("ends", 2);
  form.IntsToInput("axes", 3);
  return absl::OkStatus();
}

absl::Status UpgradeTopK10(Form& form) {
  form.SetInput(1, &form.Ints({form.spec.attrs.Int("k", 0)}));
  form.spec.attrs.Remove("k");
  return absl::OkStatus();
}

// The old defaults were ±FLT_MAX: set explicitly for types whose infinities exceed them.
absl::Status UpgradeClip11(Form& form) {
  constexpr float kMost = std::numeric_limits<float>::max();
  if (DTypeSet{DType::kF32, DType::kF64}.Has(form.input(0)->dtype())) {
    if (!form.spec.attrs.Has("min")) form.spec.attrs.Set("min", -kMost);
    if (!form.spec.attrs.Has("max")) form.spec.attrs.Set("max", kMost);
  }
  RETURN_IF_ERROR(FloatToInput(form, "min", 1));
  return FloatToInput(form, "max", 2);
}

absl::Status UpgradePad11(Form& form) {
  form.IntsToInput("pads", 1);
  if (form.spec.attrs.String("mode", "constant") != "constant") form.spec.attrs.Remove("value");
  return FloatToInput(form, "value", 2);
}

absl::Status UpgradeSplit13(Form& form) {
  form.IntsToInput("split", 1);
  return absl::OkStatus();
}

absl::Status UpgradeSplit18(Form& form) {
  if (form.input(1) == nullptr) {
    form.spec.attrs.Set("num_outputs", static_cast<int64_t>(form.spec.outputs.size()));
  }
  return absl::OkStatus();
}

absl::Status UpgradeDft20(Form& form) {
  form.SetInput(2, &form.Scalar(form.spec.attrs.Int("axis", 1)));
  form.spec.attrs.Remove("axis");
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
