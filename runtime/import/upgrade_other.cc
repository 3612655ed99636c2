#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {

// Whether the whole sequence is an output is said by the output alone.
absl::Status UpgradeRecurrent7(Form& form) {
  form.spec.attrs.Remove("output_sequence");
  return absl::OkStatus();
}

absl::Status UpgradeScan9(Form& form) {
  return form.Unimplemented("Scan with a batch dim and \"sequence_lens\" has no newer form");
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

absl::Status UpgradeReduceLog28(Form& form) {
  const DType dtype = form.input(0)->dtype();
  if (dtype == DType::kUndefined || kFloatTypes.Has(dtype)) return absl::OkStatus();
  return form.Unimplemented(
      absl::StrCat("input 0 of type ", NameOf(dtype), " is a float in newer opsets"));
}

}  // namespace onnx_cudnn
