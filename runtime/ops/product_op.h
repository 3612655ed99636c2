// What Gemm and MatMul share.
#pragma once

#include "runtime/ops/widen.h"

namespace onnx_cudnn {

// Of products of depth k.
inline Cost ProductCost(const Node& node, int64_t k) {
  const int64_t flops = 2 * k * node.output(0).elements();
  const bool uses_blas = kFloatTypes.Has(node.input(0).dtype());
  return {.flops = flops, .bytes = IoBytes(node), .blas_flops = uses_blas ? flops : 0};
}

template <Reference kReference>
OpDef ProductOp(Support (*check)(const Node&), Cost (*cost)(const Node&)) {
  return WidenedOp<kReference>(
      {.types = kFloatTypes | DTypeSet{DType::kI32, DType::kI64, DType::kU32, DType::kU64},
       .check = check,
       .cost = cost,
       .traits = {.anchor = true}});
}

}  // namespace onnx_cudnn
