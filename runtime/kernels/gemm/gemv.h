// What the kernels of products of few rows ask of Nodes: gemv, and pool_gemv with a pooling before.
#pragma once

#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// Whether it is a Gemm or MatMul.
bool IsGemv(const Node& node);

// Whether a Gemm or MatMul, of operands of ranks and extents that are known, is a product of up to
// 8 rows with a constant matrix whose depth is a multiple of 16 bytes, and its bias, if any, a
// constant of one number a column.
Support CheckGemv(const Node& product);

// A reader that cast(relu(x·w + bias)) computes, with any part absent, in this order: the Add of a
// bias where the product has none, Relu, Cast.
const Rule* JoinsGemvEpilogue(const GrowthStep& step);

}  // namespace onnx_cudnn
