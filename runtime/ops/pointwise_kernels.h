#pragma once

#include <array>
#include <cstdint>

#include "runtime/ops/primitives.h"

namespace onnx_cudnn {

// out[i] = primitive(args[0][i], …) for i < n. T is float, double, int64_t or uint64_t; the
// primitive must be defined for it. `out` may be one of the arguments.
template <typename T>
void RunPrimitive(Primitive primitive, const std::array<const T*, 3>& args, T* out, int64_t n);

}  // namespace onnx_cudnn
