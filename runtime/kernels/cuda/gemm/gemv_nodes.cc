#include "runtime/kernels/cuda/gemm/gemv_nodes.h"

#include <cstddef>

#include "runtime/cuda/repacked.h"
#include "runtime/kernels/gemm/gemv.h"

namespace onnx_cudnn {
namespace {

// The matrix as [columns, depth].
Slot Weights(const Node& product, Operands& operands) {
  const Value& w = product.input(1);
  if (product.op() == "Gemm" && product.attrs().Int("transB", 0) != 0) return operands.Of(w).slot;
  const Format transposed = Format::Permuted(w.dims(), {1, 0});
  return operands.Constant(Repacked(operands.PositionOf(w), w.dims(), transposed));
}

}  // namespace

void GemvNodes::Bind(KernelCall& call, size_t weights_at, size_t epilogue_at,
                     Operands& operands) const {
  call.Bind(weights_at, Weights(*product, operands));
  call.Bind(epilogue_at + offsetof(GemvEpilogue, y), operands.Of(*y).slot);
  if (bias == nullptr) return;
  call.Bind(epilogue_at + offsetof(GemvEpilogue, bias), operands.Of(*bias).slot);
}

GemvNodes ReadGemv(const Unit& unit) {
  GemvNodes nodes{.y = unit.boundary.outputs[0]};
  nodes.epilogue.y_dtype = nodes.y->dtype();
  for (const Node* node : unit.nodes) {
    if (IsGemv(*node)) {
      nodes.product = node;
      if (node->has_input(2)) nodes.bias = &node->input(2);
    } else if (node->op() == "Add") {
      nodes.bias = &node->input(node->input(0).is_constant() ? 0 : 1);
      nodes.epilogue.rounds_product = true;
    } else if (node->op() == "Relu") {
      nodes.epilogue.has_relu = true;
    }
  }
  return nodes;
}

}  // namespace onnx_cudnn
