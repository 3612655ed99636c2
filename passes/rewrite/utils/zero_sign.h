#pragma once

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Whether −0 instead of +0 in `value` may change more than the sign of a zero downstream, because
// something is divided by it. The search ends at sums of products (Conv, Gemm …) and graph outputs;
// after 32 Values the answer is yes.
bool SignOfZeroMatters(const Value& value);

}  // namespace onnx_cudnn
