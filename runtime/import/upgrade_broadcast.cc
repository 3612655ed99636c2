#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/import/upgrade_form.h"

namespace onnx_cudnn {
namespace {

// Input 1 with `count` additional trailing dims of extent 1.
absl::Status PadRankOfInput1(Form& form, int count) {
  if (count == 0) return absl::OkStatus();
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), form.input(1)->rank());
  ASSIGN_OR_RETURN(Value * padded, form.Append({.op = "Unsqueeze",
                                                .inputs = {form.input(1), &form.Ints(axes)},
                                                .outputs = {form.input(1)->name()}}));
  form.SetInput(1, padded);
  return absl::OkStatus();
}

}  // namespace

// With broadcast = 1, the dims of input 1 are aligned with those of input 0 from `axis` on; without
// an axis, with the last ones.
absl::Status UpgradeLegacyBroadcast(Form& form) {
  const bool broadcast = form.spec.attrs.Int("broadcast", 0) != 0;
  const int64_t* attribute = form.spec.attrs.Get<int64_t>("axis");
  const std::optional<int64_t> axis =
      broadcast && attribute != nullptr ? std::optional(*attribute) : std::nullopt;
  form.spec.attrs.Remove("broadcast");
  form.spec.attrs.Remove("axis");
  if (!axis.has_value()) return absl::OkStatus();
  if (!form.input(0)->type().ranked || !form.input(1)->type().ranked) {
    return form.Unimplemented("attribute \"axis\" needs inputs of known rank");
  }
  const int64_t rank = form.input(0)->rank();
  const int64_t first = *axis < 0 ? *axis + rank : *axis;
  const int64_t trailing = rank - first - form.input(1)->rank();
  if (first < 0 || trailing < 0) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", *axis, " does not fit input 1 of rank ",
                                                   form.input(1)->rank(), " into input 0 of rank ",
                                                   rank));
  }
  return PadRankOfInput1(form, static_cast<int>(trailing));
}

absl::Status UpgradeGemm7(Form& form) {
  form.spec.attrs.Remove("broadcast");
  return absl::OkStatus();
}

// The slope was one number, or one per channel.
absl::Status UpgradePRelu7(Form& form) {
  const Type& slope = form.input(1)->type();
  if (slope.ranked && (slope.dims.empty() || slope.dims[0].value == 1)) return absl::OkStatus();
  const Type& input = form.input(0)->type();
  if (!slope.ranked || !input.ranked || input.dims.size() < 2) {
    return form.Unimplemented("input \"slope\" needs inputs of known rank");
  }
  if (slope.dims.size() > 1) return absl::OkStatus();
  return PadRankOfInput1(form, form.input(0)->rank() - 2);
}

}  // namespace onnx_cudnn
