#include "runtime/kernels/cuda/reduce/top_k.h"

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cuda/move/check_integers.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kMostExtent = (int64_t{1} << 32) - 1;  // limit of an index beside a 32-bit key

// Checks a K that only the device knows against the extent of the outputs.
void AddCheck(const Node& node, int64_t axis, const Dims& out, Operands& operands,
              KernelCode& code) {
  CheckedIntegers checked = {.numbers = IntegersOf(node, 1)};
  checked.expected[0] = out[axis];
  code.calls.push_back(CheckIntegersCall(checked, operands.Of(node.input(1)).slot));
  code.fault = [out, axis, extent = node.input(0).dim(static_cast<int>(axis))](uint64_t word) {
    const int64_t k = FaultOf(word).number;
    if (k < 0 || k > extent) {
      return absl::InvalidArgumentError(
          absl::StrCat("K is ", k, ", axis ", axis, " has extent ", extent));
    }
    Dims expected = out;
    expected[axis] = k;
    return ExpectDims("output", out, expected);
  };
}

}  // namespace

absl::StatusOr<KernelCode> CompileTopK(const KernelRequest& request) {
  const Node& node = request.unit.node();
  if (node.input(1).elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("K is ", ToString(node.input(1).type()), ", expected one element"));
  }
  Operands operands(request);
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", -1), node.input(0).rank());
  const Value& output = *request.unit.boundary.outputs[0];
  const AxisView view = ViewAround(node.input(0).dims(), axis);
  KernelCode code;
  if (IsOnDevice(node, 1)) AddCheck(node, axis, output.dims(), operands, code);
  if (output.elements() == 0) {
    code.constants = operands.TakeConstants();
    return code;
  }
  if (view.extent >= kMostExtent) {
    return absl::UnimplementedError(
        absl::StrCat("an axis of ", view.extent, " elements, at most ", kMostExtent - 1));
  }
  TopKPlan plan = {.from = operands.Of(node.input(0)).slot,
                   .values = Slot::Workspace(),
                   .indices = Slot::Workspace(),
                   .has_values = IsWritten(request, node, 0),
                   .has_indices = IsWritten(request, node, 1),
                   .dtype = node.input(0).dtype(),
                   .is_largest = node.attrs().Int("largest", 1) != 0,
                   .outer = view.outer,
                   .extent = view.extent,
                   .inner = view.inner,
                   .k = output.dim(static_cast<int>(axis))};
  if (plan.has_values) plan.values = operands.Of(node.output(0)).slot;
  if (plan.has_indices) plan.indices = operands.Of(node.output(1)).slot;
  TopKCode selected = CodeOf(plan);
  for (KernelCall& call : selected.calls) code.calls.push_back(std::move(call));
  code.workspace_bytes = selected.workspace_bytes;
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn
