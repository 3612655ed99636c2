#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kScales = 2, kSizes = 3;  // inputs since 11

// Before 11, an output coordinate was divided by the scale; "nearest" rounded down when enlarging
// and up when shrinking.
NodeSpec OldResize(Value* input, Value* scales, std::string mode) {
  return {.op = "Resize",
          .inputs = {input, nullptr, scales},
          .attrs = {{"mode", std::move(mode)},
                    {"coordinate_transformation_mode", std::string("asymmetric")}}};
}

NodeSpec OldNearest(Value* input, Value* scales, std::string_view nearest_mode) {
  NodeSpec spec = OldResize(input, scales, "nearest");
  spec.attrs.Set("nearest_mode", std::string(nearest_mode));
  return spec;
}

// The part of `scales` that enlarges (`op` Max) or shrinks (Min).
absl::StatusOr<Value*> OneSided(Form& form, std::string_view op, Value* scales) {
  return form.Append({.op = std::string(op), .inputs = {scales, &form.Scalar(1.0f)}});
}

}  // namespace

absl::Status UpgradeUpsample7(Form& form) {
  Attrs& attrs = form.spec.attrs;
  const float height = attrs.Float("height_scale", 1);
  const float width = attrs.Float("width_scale", 1);
  attrs.Remove("height_scale");
  attrs.Remove("width_scale");
  attrs.Set("scales", std::vector<float>{1, 1, height, width});
  if (attrs.String("mode", "nearest") == "bilinear") attrs.Set("mode", std::string("linear"));
  return absl::OkStatus();
}

absl::Status UpgradeUpsample9(Form& form) {
  const auto* scales = form.spec.attrs.Get<std::vector<float>>("scales");
  const int64_t count = static_cast<int64_t>(scales->size());
  form.SetInput(1, &form.graph.AddConstant(HostTensor::Of<float>(DType::kF32, {count}, *scales)));
  form.spec.attrs.Remove("scales");
  return absl::OkStatus();
}

absl::Status UpgradeUpsample10(Form& form) {
  const std::string mode = form.spec.attrs.String("mode", "nearest");
  return form.Finish(mode == "nearest" ? OldNearest(form.input(0), form.input(1), "floor")
                                       : OldResize(form.input(0), form.input(1), mode));
}

absl::Status UpgradeResize11(Form& form) {
  Value* input = form.input(0);
  Value* scales = form.input(1);
  const std::string mode = form.spec.attrs.String("mode", "nearest");
  if (mode != "nearest") return form.Finish(OldResize(input, scales, mode));
  if (scales->is_constant() && scales->dtype() == DType::kF32) {
    const auto values = scales->constant().data<float>();
    if (std::all_of(values.begin(), values.end(), [](float s) { return s >= 1; })) {
      return form.Finish(OldNearest(input, scales, "floor"));
    }
    if (std::all_of(values.begin(), values.end(), [](float s) { return s <= 1; })) {
      return form.Finish(OldNearest(input, scales, "ceil"));
    }
  }
  ASSIGN_OR_RETURN(Value * up, OneSided(form, "Max", scales));
  ASSIGN_OR_RETURN(Value * down, OneSided(form, "Min", scales));
  ASSIGN_OR_RETURN(Value * enlarged, form.Append(OldNearest(input, up, "floor")));
  return form.Finish(OldNearest(enlarged, down, "ceil"));
}

// Before 13, scales had to be present; empty if sizes are given.
absl::Status UpgradeResize13(Form& form) {
  const Value* scales = form.input(kScales);
  const Value* sizes = form.input(kSizes);
  if (sizes == nullptr || !sizes->is_static() || sizes->elements() == 0) return absl::OkStatus();
  if (!scales->is_static()) form.spec.inputs[kScales] = nullptr;
  return absl::OkStatus();
}

// In files, an unused roi, scales or sizes may be an empty tensor.
absl::Status UpgradeResize28(Form& form) {
  for (size_t i = 1; i < form.spec.inputs.size(); ++i) {
    const Value* value = form.input(i);
    if (value != nullptr && value->is_static() && value->elements() == 0) {
      form.spec.inputs[i] = nullptr;
    }
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
