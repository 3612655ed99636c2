#include "runtime/kernels/common/layouts.h"
#include "runtime/ops/operands.h"

namespace onnx_cudnn {

namespace {

Support TakesScale(const Unit& core) {
  if (core.node().input(1).dtype() != DType::kI32) return Support::Yes();
  return Support::No("its scale is i32, expected a float");
}

}  // namespace

// QuantizeLinear and DequantizeLinear between types of whole bytes, one scale for all, for each
// index of an axis or for blocks of it, in any layout. Bound by bytes: 16 of the wider side at
// once.
Kernel QuantizeKernel() {
  return {.name = "quantize",
          .ops = {"DequantizeLinear", "QuantizeLinear"},
          .types = kMovableTypes,
          .takes = TakesScale,
          .formats = OneLayout};
}

}  // namespace onnx_cudnn
