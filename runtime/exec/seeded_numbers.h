#pragma once

#include <cstdint>

#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// Values of integers of 16 bits and more: they may be indices, and 0 is always a valid one.
enum class IndexValues : uint8_t { kZero, kZeroOrOne };

// Numbers that any op accepts, equal for equal arguments: floats are multiples of 1/128 in [-1, 1),
// exact in every float type of 16 bits and more; 8-bit integers are 0 to 7, bools 0 or 1. All other
// types are zero bits.
HostTensor SeededNumbers(DType dtype, const Dims& dims, uint64_t seed, IndexValues indices);
// Writes the same numbers in row-major order to `to`, which is aligned to an element.
void WriteSeededNumbers(DType dtype, int64_t elements, uint64_t seed, IndexValues indices,
                        void* to);

}  // namespace onnx_cudnn
