#pragma once

#include "runtime/graph/types.h"

namespace onnx_cudnn {

// Whether dtype `to` represents every value of dtype `from`, so that a cast through `to` loses
// nothing. False for types that no reference computes with.
bool HoldsEveryNumber(DType to, DType from);

}  // namespace onnx_cudnn
