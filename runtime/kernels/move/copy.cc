#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/operands.h"
#include "runtime/ops/random_draw.h"

namespace onnx_cudnn {
namespace {

Support TakesCopy(const Unit& unit) {
  const bool keeps_bytes = !IsRandom(unit.node());
  return keeps_bytes ? Support::Yes() : Support::No("it may run in training mode");
}

// The two named ops copy bytes too, but cannot have keeps_bytes: its readers replace output 0 by
// input 0, which for BitCast has another type, and Dropout has a mask besides.
std::vector<std::string_view> Copied() {
  std::vector<std::string_view> ops = {"BitCast", "Dropout"};
  for (const OpDef* op : AllOps()) {
    if (op->traits.keeps_bytes) ops.push_back(op->type);
  }
  return ops;
}

bool KeepsDims(const Node& node) { return node.op() == "Identity" || node.op() == "Dropout"; }

}  // namespace

// Ops that keep their bytes where `view` is not possible, such as at a graph output, which needs
// its own bytes. A memcpy node; Identity and Dropout (at inference; its mask is filled) in any
// layout, ops that change dims row-major.
Kernel CopyKernel() {
  return {.ops = Copied(),
          .types = kMovableTypes,
          .takes = TakesCopy,
          .formats = [](const Unit& unit, const Target& target) {
            return KeepsDims(unit.node()) ? OneLayout(unit, target) : RowMajorOnly(unit, target);
          }};
}

}  // namespace onnx_cudnn
