// The epilogue of cuBLASLt: D = act(alpha·A·B + beta·C + bias).
#pragma once

#include "runtime/plan/fused_tensor.h"
#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// The parts of the formula in use.
struct Epilogue {
  bool scale = false;     // alpha
  bool residual = false;  // C
  bool bias = false;
  bool activation = false;
};

// The parts that a MatMul, Gemm (accepted by CheckAddend) or Conv uses itself.
Epilogue OwnEpilogue(const Node& anchor, const FusedTensor& result);
// Whether input 2 of a Gemm is a bias or a residual.
Support CheckAddend(const Node& gemm);

// Why `step.node` cannot become one more part; nullptr: it can. `own` is the epilogue of the
// anchor.
const Rule* MayFollowProduct(const GrowthStep& step, const Epilogue& own,
                             const FusedTensor& result);

// Why a sum of two products cannot be one product over both depths, for the edge from another
// product into `step.nodes`; &kUnreported for any other producer.
const Rule* WhyNotConcatenated(const GrowthStep& step);

// The operands that `nodes`, an accepted Candidate around `anchor`, contribute to the formula,
// except what attributes of a Gemm scale.
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
