#include "runtime/kernels/cuda/norm/row_norm.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

// The rules accept one factor for all elements, or one per element of a row.
int StepOf(const Value& factor) { return factor.elements() == 1 ? 0 : 1; }

// Whether the output is used; outputs of the Unit are.
bool IsRead(const KernelRequest& request, int output) {
  const Node& node = request.unit.node();
  if (!node.has_output(output)) return false;
  const std::vector<const Value*>& outputs = request.unit.boundary.outputs;
  return std::find(outputs.begin(), outputs.end(), &node.output(output)) != outputs.end();
}

}  // namespace

absl::StatusOr<KernelCode> CompileRowNorm(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const Value& x = node.input(0);
  const Dims dims = x.dims();
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", -1), x.rank());
  const int64_t rows = ElementsOf(absl::MakeConstSpan(dims).first(axis)),
                columns = ElementsOf(absl::MakeConstSpan(dims).subspan(axis));
  RowNormOptions options{.about_zero = node.op() == "RMSNormalization",
                         .epsilon = node.attrs().Float("epsilon", 1e-5F),
                         .dtype = x.dtype(),
                         .scale_dtype = node.input(1).dtype(),
                         .writes_y = IsRead(request, 0),
                         .has_bias = !(node.op() == "RMSNormalization") && node.has_input(2)};
  options.scale_step = StepOf(node.input(1));
  const Slot nowhere = Slot::Workspace();
  RowNormSlots slots{
      operands.Of(x).slot, operands.Of(node.input(1)).slot, nowhere, nowhere, nowhere, nowhere};
  if (options.has_bias) {
    options.bias_step = StepOf(node.input(2));
    slots.bias = operands.Of(node.input(2)).slot;
  }
  if (options.writes_y) {
    const KernelOperand y = operands.Of(node.output(0));
    if (y.dtype() != options.scale_dtype) {
      return absl::UnimplementedError(absl::StrFormat(
          "the output is %s, the scale %s", NameOf(y.dtype()), NameOf(options.scale_dtype)));
    }
    slots.y = y.slot;
  }
  if (IsRead(request, 1)) {
    options.mean_dtype = node.output(1).dtype();
    slots.mean = operands.Of(node.output(1)).slot;
  }
  if (IsRead(request, 2)) {
    options.inverse_dtype = node.output(2).dtype();
    slots.inverse = operands.Of(node.output(2)).slot;
  }
  if (columns > kLongestRow) {
    return absl::UnimplementedError(
        absl::StrFormat("rows of %d elements, expected at most %d", columns, kLongestRow));
  }
  KernelCode code{.constants = operands.TakeConstants()};
  if (rows > 0) code.calls.push_back(RowNormCall(rows, columns, options, slots));
  return code;
}

}  // namespace onnx_cudnn
