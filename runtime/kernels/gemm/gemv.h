// Rules for products with few rows: gemv, and pool_gemv with a preceding pooling.
#pragma once

#include "runtime/plan/grow.h"

namespace onnx_cudnn {

// Of products that keep no value between their Nodes.
inline constexpr Rule kWritesOneResult = {"it writes one result, and this value has other readers",
                                          "none: the value is written, and read again"};

// Whether it is a Gemm or MatMul.
bool IsGemv(const Node& node);

// Whether a Gemm or MatMul multiplies by a constant matrix.
Support CheckConstantMatrix(const Node& product);
// Whether it transposes nothing but its weights, and scales nothing.
Support CheckUnscaled(const Node& product);
// Whether it adds nothing, or a constant bias with one number per column.
Support CheckBias(const Node& product);

// The operand of an Add that is not `edge`.
const Value& Addend(const Node& add, const Value& edge);

// Whether `addend` is a constant of the result's dtype with one number per column of `result`.
bool IsBias(const Value& addend, const Value& result);

// Whether a Gemm or MatMul, whose ranks and extents are known, has up to 8 rows, a constant matrix
// whose depth is a multiple of 16 bytes, and no bias or a constant one with one number per column.
Support CheckGemv(const Node& product);

// Accepts a reader that cast(relu(x·w + bias)) covers, where any part may be absent, in this order:
// the Add of a bias if the product has none, Relu, Cast.
const Rule* JoinsGemvEpilogue(const GrowthStep& step);

}  // namespace onnx_cudnn
