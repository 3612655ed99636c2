#include "runtime/kernels/cuda/norm/plane_norm.h"

#include "absl/strings/str_format.h"
#include "runtime/kernels/cuda/common/axis_lanes.h"

namespace onnx_cudnn {

absl::StatusOr<KernelCode> CompilePlaneNorm(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const auto [x, y, lanes] = OperandsOnPlanes(operands, request);
  const PlaneNormSlots slots = {x.slot, operands.Of(node.input(1)).slot,
                                operands.Of(node.input(2)).slot, y.slot};
  KernelCode code{.constants = operands.TakeConstants()};
  if (node.output(0).elements() == 0) return code;
  const bool per_channel = node.op() == "InstanceNormalization";
  const PlaneNormOptions options = {
      .groups = per_channel ? lanes.channels : node.attrs().Int("num_groups", 1),
      .epsilon = node.attrs().Float("epsilon", 1e-5F),
      .multiprocessors = request.target.info.multiprocessors,
      .l2_bytes = request.target.info.l2_bytes};
  if (lanes.channels % options.groups != 0) {
    return absl::InvalidArgumentError(absl::StrFormat("%d channels are not a multiple of %d groups",
                                                      lanes.channels, options.groups));
  }
  if (lanes.channels / options.groups * lanes.pixels > kLongestRow) {
    return absl::UnimplementedError(
        absl::StrFormat("planes that share statistics have more than %d elements", kLongestRow));
  }
  PlaneNormCalls made = PlaneNorm(y.dtype(), lanes, options, slots);
  code.calls = std::move(made.calls);
  code.workspace_bytes = made.workspace_bytes;
  return code;
}

}  // namespace onnx_cudnn
