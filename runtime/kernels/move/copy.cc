#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

Support TakesCopy(const Unit& unit) {
  const Node& node = unit.node();
  if (node.op() != "Dropout" || !node.has_input(2) || node.input(2).is_constant()) {
    return Support::Yes();
  }
  return Support::No("training_mode is not a constant");
}

bool KeepsDims(const Node& node) { return node.op() == "Identity" || node.op() == "Dropout"; }

}  // namespace

// Ops that keep their bytes where `view` cannot: a graph output needs bytes of its own. A memcpy
// node; Identity and Dropout (at inference; its mask is filled) in any layout, ops that change dims
// row-major.
Kernel CopyKernel() {
  return {.name = "copy",
          .ops = {"BitCast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"},
          .types = kMovableTypes,
          .takes = TakesCopy,
          .formats = [](const Unit& unit, const Target& target) {
            return KeepsDims(unit.node()) ? OneLayout(unit, target) : RowMajorOnly(unit, target);
          }};
}

}  // namespace onnx_cudnn
