#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {
namespace {

// Whether whole images are gathered, so that the layout of an image does not matter.
bool TakesImages(const Node& node) {
  return node.op() == "Gather" && node.input(1).rank() == 1 &&
         NormalizedAxis(node.attrs().Int("axis", 0), node.input(0).rank()) == 0;
}

}  // namespace

// Gather, GatherElements and GatherND of any type of whole bytes with i32 or i64 indices on the
// device, and ReverseSequence with its lengths, row-major; Gather along the images in any layout.
// An index out of range gives the same error as on the CPU device.
Kernel GatherKernel() {
  return {.ops = {"Gather", "GatherElements", "GatherND", "ReverseSequence"},
          .types = kMovableTypes,
          .formats =
              [](const Unit& unit, const Target& target) {
                return TakesImages(unit.node()) ? OneLayout(unit, target)
                                                : RowMajorOnly(unit, target);
              },
          .speed = {.reads_what_it_writes = true}};
}

}  // namespace onnx_cudnn
