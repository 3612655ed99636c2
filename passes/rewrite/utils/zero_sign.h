#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether −0 in place of +0 in `value` may change more behind it than the sign of a zero, because
// something is divided by it. Products that sum (Conv, Gemm …) and graph outputs end the search;
// after 32 Values the answer is yes.
bool SignOfZeroMatters(const Value& value);

}  // namespace onnx_cudnn
