#include "runtime/kernels/cuda/move/scatter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/move/check_integers.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/kernels/cuda/move/plan_sequence.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/strided_copy.h"

namespace onnx_cudnn {
namespace {

std::string Text(const Dims& dims) { return ToString(absl::MakeConstSpan(dims)); }

ScatterJoin JoinOf(const Node& node) {
  const std::string reduction = node.attrs().String("reduction", "none");
  if (reduction == "add") return ScatterJoin::kAdd;
  if (reduction == "mul") return ScatterJoin::kMultiply;
  if (reduction == "max") return ScatterJoin::kMax;
  return reduction == "min" ? ScatterJoin::kMin : ScatterJoin::kReplace;
}

absl::Status PlanElements(const Node& node, ScatterPlan& plan) {
  const Dims data = node.input(0).dims(), dims = node.input(1).dims();
  const int64_t rank = static_cast<int64_t>(data.size());
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), rank);
  RETURN_IF_ERROR(ExpectDims("updates", node.input(2).dims(), dims));
  bool fits = static_cast<int64_t>(dims.size()) == rank;
  for (int64_t a = 0; fits && a < rank; ++a) fits = a == axis || dims[a] <= data[a];
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices ", Text(dims), " exceed ", Text(data), " beside axis ", axis));
  }
  plan.kind = ScatterKind::kElements;
  plan.join = JoinOf(node);
  plan.axis = static_cast<int>(axis);
  plan.rank = static_cast<int>(rank);
  plan.extents[0] = data[axis];
  const std::vector<int64_t> strides = RowMajorStrides(data);
  std::copy(dims.begin(), dims.end(), plan.dims);
  std::copy(strides.begin(), strides.end(), plan.strides);
  plan.updated = ElementsOf(dims);
  return absl::OkStatus();
}

absl::Status PlanCoordinates(const Node& node, ScatterPlan& plan) {
  const Dims data = node.input(0).dims(), indices = node.input(1).dims();
  const int64_t depth = indices.empty() ? 0 : indices.back();
  if (depth < 1 || depth > static_cast<int64_t>(data.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices of ", depth, " coordinates for rank ", data.size()));
  }
  Dims dims(indices.begin(), indices.end() - 1);
  dims.insert(dims.end(), data.begin() + depth, data.end());
  RETURN_IF_ERROR(ExpectDims("updates", node.input(2).dims(), dims));
  plan.kind = ScatterKind::kCoordinates;
  plan.join = JoinOf(node);
  plan.depth = static_cast<int>(depth);
  plan.row = ElementsOf(absl::MakeConstSpan(data).subspan(depth));
  plan.updated = ElementsOf(indices) / depth;
  std::copy_n(data.begin(), depth, plan.extents);
  return absl::OkStatus();
}

// The dims of the pooling's input from the attributes only; indices refer to them.
Dims PooledDims(const Node& node) {
  Dims dims = node.input(0).dims();
  const size_t spatial = dims.size() - 2;
  const std::vector<int64_t> kernel = node.attrs().Ints("kernel_shape");
  const std::vector<int64_t> strides =
      node.attrs().Ints("strides", std::vector<int64_t>(spatial, 1));
  const std::vector<int64_t> pads = node.attrs().Ints("pads", std::vector<int64_t>(2 * spatial, 0));
  for (size_t i = 0; i < spatial; ++i) {
    dims[2 + i] = (dims[2 + i] - 1) * strides[i] - pads[i] - pads[spatial + i] + kernel[i];
  }
  return dims;
}

absl::Status PlanUnpool(const Node& node, ScatterPlan& plan) {
  const Dims out = node.output(0).dims(), pooled = PooledDims(node);
  RETURN_IF_ERROR(ExpectDims("I", node.input(1).dims(), node.input(0).dims()));
  for (size_t a = 0; a < pooled.size(); ++a) {
    if (out.size() == pooled.size() && pooled[a] >= 0 && pooled[a] <= out[a]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the pooled tensor ", Text(pooled), " does not fit into ", Text(out)));
  }
  plan.kind = ScatterKind::kUnpool;
  plan.rank = static_cast<int>(pooled.size());
  plan.extents[0] = ElementsOf(pooled);
  const std::vector<int64_t> strides = RowMajorStrides(out);
  for (int a = 0; a < plan.rank; ++a) {
    // Without elements, every index is out of range.
    plan.dims[a] = std::max<int64_t>(1, pooled[a]);
    plan.strides[a] = strides[a];
  }
  plan.updated = node.input(0).elements();
  return absl::OkStatus();
}

absl::Status PlanOf(const Node& node, ScatterPlan& plan) {
  if (node.op() == "ScatterElements") return PlanElements(node, plan);
  if (node.op() == "ScatterND") return PlanCoordinates(node, plan);
  if (node.op() == "TensorScatter") return PlanSequence(node, plan);
  return PlanUnpool(node, plan);
}

absl::Status ScatterFault(uint64_t word, const ScatterPlan& plan, const Dims& data,
                          const Dims& out) {
  const Fault fault = FaultOf(word);
  if (fault.kind == FaultKind::kExtent) {
    return OutputFault(word, "output", out, static_cast<int>(out.size()));
  }
  if (fault.kind == FaultKind::kNumber && plan.kind == ScatterKind::kSequence) {
    return SequenceFault(fault, plan);
  }
  if (fault.kind == FaultKind::kNumber) {
    return OutputFault(word, "output", out, static_cast<int>(out.size()));
  }
  if (plan.kind == ScatterKind::kUnpool) return IndexFault(word, {plan.extents[0]});
  return IndexFault(word, data);
}

// Initializes the output with the data, or zeros.
void AddStart(const Node& node, const KernelOperand& to, Operands& operands, KernelCode& code) {
  const int64_t bytes = to.value->bytes();
  if (node.op() != "MaxUnpool") {
    code.calls.push_back(KernelCall::Copy(to.slot, operands.Of(node.input(0)).slot, bytes));
    return;
  }
  if (IsOnDevice(node, 2)) {
    CheckedIntegers checked = {.numbers = IntegersOf(node, 2)};
    const Dims dims = to.dims();
    std::copy(dims.begin(), dims.end(), checked.expected);
    code.calls.push_back(CheckIntegersCall(checked, operands.Of(node.input(2)).slot));
  }
  code.calls.push_back(KernelCall::Fill(to.slot, 0, bytes));
}

}  // namespace

absl::StatusOr<KernelCode> CompileScatter(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand to = operands.Of(node.output(0));
  if (to.value->elements() == 0) return KernelCode();
  const bool is_sequence = node.op() == "TensorScatter", is_unpool = node.op() == "MaxUnpool";
  const int updates = is_sequence ? 1 : is_unpool ? 0 : 2, indices = is_sequence ? 2 : 1;
  ScatterPlan plan = {.indices = Slot::Workspace(),
                      .updates = operands.Of(node.input(updates)).slot,
                      .to = to.slot,
                      .has_indices = node.has_input(indices),
                      .dtype = to.dtype(),
                      .element_bytes = to.element_bytes()};
  RETURN_IF_ERROR(PlanOf(node, plan));
  if (plan.updated >= int64_t{1} << 31) {
    return absl::UnimplementedError(
        absl::StrCat(plan.updated, " rows of updates, fewer than 2^31 are numbered"));
  }
  if (plan.has_indices) {
    plan.indices = operands.Of(node.input(indices)).slot;
    plan.is_wide = node.input(indices).dtype() == DType::kI64;
  }
  plan.rows = to.value->elements() / plan.row;
  KernelCode code;
  AddStart(node, to, operands, code);
  if (plan.updated != 0) {
    ScatterCode scatter = CodeOf(plan);
    for (KernelCall& call : scatter.calls) code.calls.push_back(std::move(call));
    code.workspace_bytes = scatter.workspace_bytes;
  }
  code.fault = [plan, data = node.input(0).dims(), out = to.dims()](uint64_t word) {
    return ScatterFault(word, plan, data, out);
  };
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn
