#include "runtime/kernels/cuda/move/plan_sequence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {

absl::Status PlanSequence(const Node& node, ScatterPlan& plan) {
  const Dims past = node.input(0).dims(), update = node.input(1).dims();
  const int64_t axis =
      NormalizedAxis(node.attrs().Int("axis", -2), static_cast<int64_t>(past.size()));
  if (update.size() != past.size() || update[axis] > past[axis]) {
    return absl::InvalidArgumentError(absl::StrCat("update ", ToString(absl::MakeConstSpan(update)),
                                                   " does not fit ",
                                                   ToString(absl::MakeConstSpan(past))));
  }
  Dims expected = past;
  expected[axis] = update[axis];
  RETURN_IF_ERROR(ExpectDims("update", update, expected));
  if (node.has_input(2)) {
    RETURN_IF_ERROR(ExpectDims("write_indices", node.input(2).dims(), {past[0]}));
  }
  const AxisView view = ViewAround(past, axis);
  plan.kind = ScatterKind::kSequence;
  plan.extents[0] = view.extent;
  plan.row = view.inner;
  plan.length = std::max<int64_t>(1, update[axis]);
  plan.outer_of_batch = std::max<int64_t>(1, past[0] == 0 ? 1 : view.outer / past[0]);
  plan.is_circular = node.attrs().String("mode", "linear") == "circular";
  plan.updated = view.outer * update[axis];
  return absl::OkStatus();
}

absl::Status SequenceFault(const Fault& fault, const ScatterPlan& plan) {
  return absl::InvalidArgumentError(absl::StrCat("write index ", fault.number, " for ", plan.length,
                                                 " rows is outside the cache's ", plan.extents[0]));
}

}  // namespace onnx_cudnn
