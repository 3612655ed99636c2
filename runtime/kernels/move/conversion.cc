#include "runtime/kernels/move/conversion.h"

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/kernel.h"

namespace onnx_cudnn {
namespace {

bool IsTransfer(const Candidate& candidate) { return candidate.nodes[0]->op() == "Transfer"; }

}  // namespace

Support CheckConversion(const Candidate& candidate) {
  if (candidate.nodes.size() != 1 || candidate.inputs.size() != 1 ||
      candidate.outputs.size() != 1) {
    return Support::No("it converts one value");
  }
  const Value& value = candidate.nodes[0]->input(0);
  const int least_bits = IsTransfer(candidate) ? 1 : 8;
  if (!value.is_static() || BitsOf(value.dtype()) < least_bits) {
    return Support::No(absl::StrCat(value.name(), " is ", ToString(value.type()),
                                    ", not a static tensor of ",
                                    least_bits == 8 ? "whole bytes" : "numbers"));
  }
  const Placement &from = candidate.inputs[0], &to = candidate.outputs[0];
  if (!IsTransfer(candidate)) {
    const bool on_device = from.space == Space::kDevice && to.space == Space::kDevice;
    return on_device ? Support::Yes() : Support::No("an operand is in host memory");
  }
  if (from.space == to.space) return Support::No("both sides are in one memory");
  return from.format == to.format ? Support::Yes() : Support::No("its formats differ");
}

Cost PriceOfConversion(const Candidate& candidate, const Target& target) {
  const Efficiency reformat = {.traffic = target.info.calibration.kernels.traffic.usual,
                               .fixed_us = target.info.dependent_kernel_us};
  Cost cost = Roofline(candidate, target, reformat);
  if (IsTransfer(candidate)) cost.us = TransferUs(cost.bytes / 2, target.info);
  return cost;
}

}  // namespace onnx_cudnn
