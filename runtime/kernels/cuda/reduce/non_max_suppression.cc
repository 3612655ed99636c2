#include "runtime/kernels/cuda/reduce/non_max_suppression.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "runtime/kernels/cuda/common/operands.h"

namespace onnx_cudnn {
namespace {

absl::Status ThresholdFault(uint64_t word) {
  const float threshold = std::bit_cast<float>(static_cast<uint32_t>(FaultOf(word).number));
  return absl::InvalidArgumentError(
      absl::StrCat("iou_threshold is ", threshold, ", expected 0 to 1"));
}

}  // namespace

absl::StatusOr<KernelCode> CompileNonMaxSuppression(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const Dims scores = node.input(1).dims();
  const int64_t most = node.input(2).constant().data<int64_t>()[0];
  SuppressionPlan plan = {.boxes = operands.Of(node.input(0)).slot,
                          .scores = operands.Of(node.input(1)).slot,
                          .to = operands.Of(node.output(0)).slot,
                          .count = operands.Of(node.output(1)).slot,
                          .batches = scores[0],
                          .classes = scores[1],
                          .count_of_boxes = scores[2],
                          .most = std::clamp<int64_t>(most, 0, scores[2]),
                          .is_center = node.attrs().Int("center_point_box", 0) != 0};
  if (node.has_input(3)) plan.iou_threshold = operands.Of(node.input(3)).slot;
  if (node.has_input(4)) plan.score_threshold = operands.Of(node.input(4)).slot;
  SuppressionCode suppression = CodeOf(plan);
  return KernelCode{.calls = std::move(suppression.calls),
                    .constants = operands.TakeConstants(),
                    .workspace_bytes = suppression.workspace_bytes,
                    .fault = ThresholdFault};
}

}  // namespace onnx_cudnn
