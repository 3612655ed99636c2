#include "runtime/kernels/cuda/move/fill.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/cuda/move/check_integers.h"
#include "runtime/kernels/cuda/move/move_plan.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

// Repeats `element` to 16 bytes.
void SetPattern(const void* element, int element_bytes, uint64_t (&pattern)[2]) {
  char* bytes = reinterpret_cast<char*>(pattern);
  for (int at = 0; at < 16; at += element_bytes) std::memcpy(bytes + at, element, element_bytes);
}

// A Move in which every position is filled.
KernelCall FillCall(const KernelOperand& to, const HostTensor* value) {
  Move move = MoveBetween(to, to);  // there is no source, so nothing is read
  if (value != nullptr) SetPattern(value->raw(), to.element_bytes(), move.pattern);
  return CallOf(std::move(move), {{to.value->elements(), Route{.stride = 1}}});
}

void AddConstantOfShape(const Node& node, const KernelOperand& to, Operands& operands,
                        KernelCode& code) {
  if (IsOnDevice(node, 0)) {
    CheckedIntegers checked = {.numbers = IntegersOf(node, 0)};
    const Dims dims = to.dims();
    std::copy(dims.begin(), dims.end(), checked.expected);
    code.calls.push_back(CheckIntegersCall(checked, operands.Of(node.input(0)).slot));
    code.fault = [dims](uint64_t word) {
      return OutputFault(word, "output", dims, static_cast<int>(dims.size()));
    };
  }
  if (to.value->elements() == 0) return;
  code.calls.push_back(FillCall(to, node.attrs().Get<HostTensor>("value")));
}

void AddEye(const Node& node, const KernelOperand& to, KernelCode& code) {
  if (to.value->elements() == 0) return;
  const Dims dims = to.dims();
  EyePlan plan = {.to = to.slot,
                  .element_bytes = to.element_bytes(),
                  .rows = dims[0],
                  .columns = dims[1],
                  .k = std::clamp<int64_t>(node.attrs().Int("k", 0), -dims[0], dims[1]),
                  .one = 0};
  VisitElementType(to.dtype(), [&](auto element) {
    const auto one = Narrow<decltype(element)>(1.0F);
    std::memcpy(&plan.one, &one, sizeof(one));
  });
  code.calls.push_back(CallOf(plan));
}

absl::Status AddOneHot(const Node& node, const KernelOperand& to, Operands& operands,
                       KernelCode& code) {
  if (node.input(1).elements() != 1) {
    return absl::InvalidArgumentError("depth has not one element");
  }
  RETURN_IF_ERROR(ExpectDims("values", node.input(2).dims(), {2}));
  if (to.value->elements() == 0 && !IsOnDevice(node, 1)) return absl::OkStatus();
  const Dims dims = to.dims();
  const int64_t axis =
      NormalizedAxis(node.attrs().Int("axis", -1), static_cast<int64_t>(dims.size()));
  const AxisView view = ViewAround(dims, axis);
  code.calls.push_back(CallOf(OneHotPlan{.indices = operands.Of(node.input(0)).slot,
                                         .depth = operands.Of(node.input(1)).slot,
                                         .values = operands.Of(node.input(2)).slot,
                                         .to = to.slot,
                                         .index_type = node.input(0).dtype(),
                                         .depth_type = node.input(1).dtype(),
                                         .checks_depth = IsOnDevice(node, 1),
                                         .axis = static_cast<int>(axis),
                                         .element_bytes = to.element_bytes(),
                                         .outer = view.outer,
                                         .extent = view.extent,
                                         .inner = view.inner}));
  if (!IsOnDevice(node, 1)) return absl::OkStatus();
  code.fault = [dims](uint64_t word) {
    return OutputFault(word, "output", dims, static_cast<int>(dims.size()));
  };
  return absl::OkStatus();
}

absl::Status AddRange(const Node& node, const KernelOperand& to, Operands& operands,
                      KernelCode& code) {
  for (int i = 0; i < 3; ++i) {
    if (node.input(i).elements() == 1) continue;
    return absl::InvalidArgumentError("start, limit or delta has not one element");
  }
  code.calls.push_back(CallOf(RangePlan{.start = operands.Of(node.input(0)).slot,
                                        .limit = operands.Of(node.input(1)).slot,
                                        .delta = operands.Of(node.input(2)).slot,
                                        .to = to.slot,
                                        .dtype = to.dtype(),
                                        .count = to.value->elements()}));
  code.fault = [dims = to.dims()](uint64_t word) {
    const Fault fault = FaultOf(word);
    if (fault.kind == FaultKind::kZeroStep) return absl::InvalidArgumentError("delta is 0");
    return absl::InvalidArgumentError(absl::StrCat("a range of ", static_cast<double>(fault.number),
                                                   " elements for ",
                                                   ToString(absl::MakeConstSpan(dims))));
  };
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelCode> CompileFill(const KernelRequest& request) {
  const Node& node = request.unit.node();
  Operands operands(request);
  const KernelOperand to = operands.Of(node.output(0));
  KernelCode code;
  if (node.op() == "ConstantOfShape") {
    AddConstantOfShape(node, to, operands, code);
  } else if (node.op() == "EyeLike") {
    AddEye(node, to, code);
  } else if (node.op() == "OneHot") {
    RETURN_IF_ERROR(AddOneHot(node, to, operands, code));
  } else {
    RETURN_IF_ERROR(AddRange(node, to, operands, code));
  }
  code.constants = operands.TakeConstants();
  return code;
}

}  // namespace onnx_cudnn
