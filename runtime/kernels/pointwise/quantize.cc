#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

namespace {

Support TakesScale(const Unit& core) {
  if (core.node().input(1).dtype() != DType::kI32) return Support::Yes();
  return Support::No("its scale is i32, expected a float");
}

}  // namespace

// QuantizeLinear and DequantizeLinear between types of whole bytes, with one scale per tensor, per
// index of an axis or per block along it, in any layout. Bound by bandwidth: 16-byte accesses on
// the wider side.
Kernel QuantizeKernel() {
  return {.ops = {"DequantizeLinear", "QuantizeLinear"},
          .types = kMovableTypes,
          .takes = TakesScale,
          .formats = OneLayout};
}

}  // namespace onnx_cudnn
