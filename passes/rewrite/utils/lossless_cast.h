#pragma once

#include "runtime/graph/types.h"

namespace onnx_cudnn {

// Whether every element of dtype `from` is one of dtype `to` too, so that casting there and on is
// casting once. False for types that no reference computes with.
bool HoldsEveryNumber(DType to, DType from);

}  // namespace onnx_cudnn
