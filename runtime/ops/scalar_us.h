#pragma once

#include <cstdint>

namespace onnx_cudnn {

// Time of the scalar work of a reference that flops and bytes do not cover: math library calls,
// index divisions, branches, searches. OpDef::cost returns it as `us`. Measured on two cores of an
// AMD EPYC with AVX-512: 5 to 20 ns each (tests/prices).
inline constexpr double kScalarStepsPerUs = 150;

inline double ScalarUs(int64_t steps) { return static_cast<double>(steps) / kScalarStepsPerUs; }

}  // namespace onnx_cudnn
