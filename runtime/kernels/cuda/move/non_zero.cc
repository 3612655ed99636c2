#include "runtime/kernels/cuda/move/non_zero.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cuda/common/compile_kernels.h"
#include "runtime/kernels/cuda/common/operands.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kAlignment = 256;  // of what shares a workspace, bytes

// All bits of an element, without the signs of floats.
uint64_t MaskOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return 0x7fff;
    case DType::kF32:
      return 0x7fffffff;
    case DType::kC64:
      return 0x7fffffff7fffffff;
    case DType::kF64:
    case DType::kC128:
      return 0x7fffffffffffffff;
    default:
      return ~uint64_t{0};
  }
}

KernelCode CompileIndices(const Node& node, Operands& operands) {
  const KernelOperand from = operands.Of(node.input(0));
  NonZeroPlan plan = {.from = from.slot,
                      .to = operands.Of(node.output(0)).slot,
                      .count = operands.Of(node.output(1)).slot,
                      .counts = Slot::Workspace(),
                      .element_bytes = from.element_bytes(),
                      .mask = MaskOf(from.dtype()),
                      .rank = from.value->rank(),
                      .elements = from.value->elements()};
  const Dims dims = from.dims();
  std::copy(dims.begin(), dims.end(), plan.dims);
  return {.calls = CallsOf(plan), .workspace_bytes = NonZeroCountsBytes(plan.elements)};
}

absl::Status BeyondFault(uint64_t word, int64_t extent, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("condition is true at ", FaultOf(word).number,
                                                 ", outside extent ", extent, what));
}

KernelCode CompileKept(const Node& node, Operands& operands) {
  const KernelOperand from = operands.Of(node.input(0)), condition = operands.Of(node.input(1));
  const bool is_flat = !node.attrs().Has("axis");
  const Dims dims = is_flat ? Dims{from.value->elements()} : from.dims();
  const int64_t axis = NormalizedAxis(node.attrs().Int("axis", 0), std::ssize(dims));
  const AxisView view = ViewAround(dims, axis);
  const int64_t length = condition.value->elements(), read = std::min(length, view.extent);
  const Slot count = operands.Of(node.output(1)).slot;
  const int64_t counts_bytes =
      (NonZeroCountsBytes(read) + kAlignment - 1) / kAlignment * kAlignment;
  const Slot indices = Slot::Workspace(counts_bytes);
  KernelCode code;
  code.calls = CallsOf(NonZeroPlan{.from = condition.slot,
                                   .to = indices,
                                   .count = count,
                                   .counts = Slot::Workspace(),
                                   .dims = {read},
                                   .elements = read});
  code.calls.push_back(CallOf(KeepPlan{.from = from.slot,
                                       .to = operands.Of(node.output(0)).slot,
                                       .indices = indices,
                                       .count = count,
                                       .condition = condition.slot,
                                       .element_bytes = from.element_bytes(),
                                       .outer = view.outer,
                                       .extent = view.extent,
                                       .inner = view.inner,
                                       .length = length}));
  code.workspace_bytes = counts_bytes + read * static_cast<int64_t>(sizeof(int64_t));
  code.fault = [extent = view.extent, what = is_flat ? std::string(" of the flattened input")
                                                     : absl::StrCat(" of axis ", axis)](
                   uint64_t word) { return BeyondFault(word, extent, what); };
  return code;
}

}  // namespace

absl::StatusOr<KernelCode> CompileNonZero(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  KernelCode code =
      node.op() == "BoundedNonZero" ? CompileIndices(node, operands) : CompileKept(node, operands);
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn
