#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {

// Only the presence of the output tells whether the whole sequence is returned.
absl::Status UpgradeRecurrent7(Form& form) {
  form.spec.attrs.Remove("output_sequence");
  return absl::OkStatus();
}

absl::Status UpgradeScatter11(Form& form) {
  form.spec.op = "ScatterElements";
  return absl::OkStatus();
}

absl::Status UpgradeRoiAlign16(Form& form) {
  form.spec.attrs.Set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return absl::OkStatus();
}

absl::Status UpgradeGridSample20(Form& form) {
  const std::string mode = form.spec.attrs.String("mode", "bilinear");
  if (mode == "bilinear") form.spec.attrs.Set("mode", std::string("linear"));
  if (mode == "bicubic") form.spec.attrs.Set("mode", std::string("cubic"));
  return absl::OkStatus();
}

// Newer opsets support floats only: the logarithm is computed in f64 and truncated.
absl::Status UpgradeReduceLog28(Form& form) {
  const DType dtype = form.input(0)->dtype();
  if (dtype == DType::kUndefined || kFloatTypes.Has(dtype)) return absl::OkStatus();
  const auto cast = [&](Value* value, DType to) {
    return NodeSpec{.op = "Cast", .inputs = {value}, .attrs = {{"to", static_cast<int64_t>(to)}}};
  };
  ASSIGN_OR_RETURN(Value * wide, form.Append(cast(form.input(0), DType::kF64)));
  form.SetInput(0, wide);
  ASSIGN_OR_RETURN(
      Value * logarithm,
      form.Append({.op = form.spec.op, .inputs = form.spec.inputs, .attrs = form.spec.attrs}));
  return form.Finish(cast(logarithm, dtype));
}

}  // namespace onnx_cudnn
