#include "runtime/kernels/cuda/move/gather.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/kernels/cuda/move/row_split.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

// Along axis 0 a row is all lanes of an image, in any layout.
void PlanRows(const Node& node, const KernelOperand& to, GatherPlan& plan) {
  const Value& data = node.input(0);
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), data.rank());
  const AxisView view = ViewAround(data.dims(), axis);
  plan.kind = GatherKind::kRows;
  plan.axis = static_cast<int>(axis);
  plan.picked = node.input(1).elements();
  plan.extents[0] = view.extent;
  plan.rows = view.outer * plan.picked;
  plan.row = to.format.lanes() / plan.rows;
}

absl::Status PlanElements(const Node& node, GatherPlan& plan) {
  const Dims data = node.input(0).dims(), dims = node.input(1).dims();
  const int64_t rank = static_cast<int64_t>(data.size());
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), rank);
  bool fits = static_cast<int64_t>(dims.size()) == rank;
  for (int64_t a = 0; fits && a < rank; ++a) fits = a == axis || dims[a] <= data[a];
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("indices ", ToString(absl::MakeConstSpan(dims)),
                                                   " exceed ", ToString(absl::MakeConstSpan(data)),
                                                   " beside axis ", axis));
  }
  plan.kind = GatherKind::kElements;
  plan.axis = static_cast<int>(axis);
  plan.rank = static_cast<int>(rank);
  plan.extents[0] = data[axis];
  plan.rows = node.input(1).elements();
  const std::vector<int64_t> strides = RowMajorStrides(data);
  std::copy(dims.begin(), dims.end(), plan.dims);
  std::copy(strides.begin(), strides.end(), plan.strides);
  return absl::OkStatus();
}

absl::Status PlanCoordinates(const Node& node, GatherPlan& plan) {
  const Dims data = node.input(0).dims(), dims = node.input(1).dims();
  const int64_t batch = node.attrs().Int("batch_dims", 0), depth = dims.back();
  const int64_t rank = static_cast<int64_t>(data.size());
  if (depth < 1 || batch + depth > rank) {
    return absl::InvalidArgumentError(absl::StrCat("indices of ", depth, " coordinates for rank ",
                                                   rank, " with ", batch, " batch axes"));
  }
  const absl::Span<const int64_t> all(data);
  RETURN_IF_ERROR(ExpectDims("batch axes of the indices", absl::MakeConstSpan(dims).first(batch),
                             all.first(batch)));
  plan.kind = GatherKind::kCoordinates;
  plan.axis = static_cast<int>(batch);
  plan.depth = static_cast<int>(depth);
  plan.rows = node.input(1).elements() / depth;
  plan.picked = plan.rows / ElementsOf(all.first(batch));
  plan.row = ElementsOf(all.subspan(batch + depth));
  std::copy_n(data.begin() + batch, depth, plan.extents);
  return absl::OkStatus();
}

void PlanReverse(const Node& node, GatherPlan& plan) {
  const Dims data = node.input(0).dims();
  plan.kind = GatherKind::kReverse;
  plan.time_first = node.attrs().Int("time_axis", 0) == 0;
  plan.extents[0] = data[plan.time_first ? 0 : 1];
  plan.picked = data[plan.time_first ? 1 : 0];
  plan.rows = data[0] * data[1];
  plan.row = ElementsOf(absl::MakeConstSpan(data).subspan(2));
}

absl::Status PlanOf(const Node& node, const KernelOperand& to, GatherPlan& plan) {
  if (node.op() == "GatherElements") return PlanElements(node, plan);
  if (node.op() == "GatherND") return PlanCoordinates(node, plan);
  if (node.op() == "ReverseSequence") {
    PlanReverse(node, plan);
  } else {
    PlanRows(node, to, plan);
  }
  return absl::OkStatus();
}

absl::Status GatherFault(uint64_t word, const Dims& dims, int64_t times) {
  const Fault fault = FaultOf(word);
  if (fault.kind == FaultKind::kIndex) return IndexFault(word, dims);
  return absl::InvalidArgumentError(
      absl::StrCat("a sequence length is ", fault.number, ", the time axis has ", times));
}

}  // namespace

absl::StatusOr<KernelCode> CompileGather(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand to = operands.Of(node.output(0));
  if (to.value->elements() == 0) return KernelCode();
  const bool keeps_rank = node.op() == "Gather" && node.input(0).rank() == to.value->rank();
  const KernelOperand from =
      keeps_rank ? OperandLike(to, node.input(0), operands) : operands.Of(node.input(0));
  GatherPlan plan = {.from = from.slot,
                     .indices = operands.Of(node.input(1)).slot,
                     .to = to.slot,
                     .is_wide = node.input(1).dtype() == DType::kI64,
                     .from_bytes = from.format.bytes(from.dtype()),
                     .element_bytes = to.element_bytes()};
  RETURN_IF_ERROR(PlanOf(node, to, plan));
  KernelCode code = OneCall(CallOf(plan), operands);
  code.fault = [dims = node.input(0).dims(), times = plan.extents[0]](uint64_t word) {
    return GatherFault(word, dims, times);
  };
  return code;
}

}  // namespace onnx_cudnn
