#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/move/check_integers.h"
#include "runtime/kernels/cuda/move/concat.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/kernels/cuda/move/row_split.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

// Checks extents that only the device knows against those of the outputs.
void AddCheck(const Node& node, Operands& operands, KernelCode& code) {
  CheckedIntegers checked = {.numbers = IntegersOf(node, 1)};
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), node.input(0).rank());
  Dims extents;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    extents.push_back(node.output(static_cast<int>(i)).dim(static_cast<int>(axis)));
    checked.expected[i] = extents.back();
  }
  code.calls.push_back(CheckIntegersCall(checked, operands.Of(node.input(1)).slot));
  code.fault = [extents](uint64_t word) {
    const Fault fault = FaultOf(word);
    Dims found = extents;
    found[fault.axis] = fault.number;
    return ExpectDims("split", found, extents);
  };
}

// Checks the outputs' extents against a constant operand, if it is one.
absl::Status CheckOutputs(const Node& node) {
  const size_t count = node.outputs().size();
  for (size_t i = 0; i < count; ++i) {
    if (!node.has_output(static_cast<int>(i))) {
      return absl::UnimplementedError("an output is absent");
    }
  }
  if (!IsOnDevice(node, 1)) return absl::OkStatus();
  if (IntegersOf(node, 1).count != static_cast<int64_t>(count) ||
      count > size_t{kMostCheckedIntegers}) {
    return absl::UnimplementedError(
        absl::StrCat("split has ", IntegersOf(node, 1).count, " extents on the device for ", count,
                     " outputs, at most ", kMostCheckedIntegers, " are checked there"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelCode> CompileSplit(const KernelRequest& request) {
  const Node& node = request.unit.node();
  RETURN_IF_ERROR(CheckOutputs(node));
  Operands operands(request);
  KernelCode code;
  if (node.input(0).elements() == 0) return code;
  if (IsOnDevice(node, 1)) AddCheck(node, operands, code);
  KernelOperand like;
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    if (IsWritten(request, node, i)) like = operands.Of(node.output(i));
  }
  const KernelOperand whole = OperandLike(like, node.input(0), operands);
  const std::vector<Value*> outputs(node.outputs().begin(), node.outputs().end());
  ASSIGN_OR_RETURN(const RowParts parts, RowPartsOf(request, whole, outputs, operands));
  for (KernelCall& call : SplitRowsCalls(parts)) code.calls.push_back(std::move(call));
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn
