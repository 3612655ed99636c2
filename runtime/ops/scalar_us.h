#pragma once

#include <cstdint>

namespace onnx_cudnn {

// The time of work that a reference does element by element, which flops and bytes leave out: calls
// of the math library, indices that are divided out, branches, searches. OpDef::cost gives it as
// `us`. Measured on two cores of an AMD EPYC with AVX-512: 5 to 20 ns each (tests/prices).
inline constexpr double kScalarStepsPerUs = 150;

inline double ScalarUs(int64_t steps) { return static_cast<double>(steps) / kScalarStepsPerUs; }

}  // namespace onnx_cudnn
