// What cuBLASLt does behind a product: D = act(alpha·A·B + beta·C + bias).
#pragma once

#include "runtime/plan/fused_tensor.h"
#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// Which parts of the formula are in use.
struct Epilogue {
  bool scale = false;     // alpha
  bool residual = false;  // C
  bool bias = false;
  bool activation = false;
};

// What the operands of a MatMul, Gemm (CheckAddend said yes) or Conv use of it themselves.
Epilogue OwnEpilogue(const Node& anchor, const FusedTensor& result);
// Whether input 2 of a Gemm is a bias or a residual.
Support CheckAddend(const Node& gemm);

// Why `step.node` cannot be one more part; nullptr: it can. `own` is the anchor's.
const Rule* MayFollowProduct(const GrowthStep& step, const Epilogue& own,
                             const FusedTensor& result);

// Why two products that are added are not one over both depths, for the edge from another product
// into `step.nodes`; &kUnreported for all other producers.
const Rule* WhyNotConcatenated(const GrowthStep& step);

// What `nodes`, a Candidate of the rules around `anchor`, put into the formula, but for what
// attributes of a Gemm scale.
struct Formula {
  double scale = 1;                  // alpha
  const Value* residual = nullptr;   // C
  const Value* bias = nullptr;       // one element per channel of the result
  const Node* activation = nullptr;  // Relu or Gelu
};
Formula FormulaOf(const Node& anchor, absl::Span<const Node* const> nodes,
                  const FusedTensor& result);

// Whether one of `nodes` adds a residual.
bool AddsResidual(absl::Span<const Node* const> nodes, const FusedTensor& result);

}  // namespace onnx_cudnn
