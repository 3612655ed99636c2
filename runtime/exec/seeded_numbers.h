#pragma once

#include <cstdint>

#include "runtime/graph/host_tensor.h"

namespace onnx_cudnn {

// What integers of 16 bits and more are: they may be indices, of which 0 is the safest.
enum class IndexValues : uint8_t { kZero, kZeroOrOne };

// Numbers that any op takes, equal for equal arguments: floats are multiples of 1/128 in [-1, 1),
// which every float of 16 bits and more holds; 8-bit integers are 0 to 7, bools 0 or 1. Types that
// are none of these are all zero bits.
HostTensor SeededNumbers(DType dtype, const Dims& dims, uint64_t seed, IndexValues indices);
// The same numbers in row-major order into `to`, which has the alignment of an element.
void WriteSeededNumbers(DType dtype, int64_t elements, uint64_t seed, IndexValues indices,
                        void* to);

}  // namespace onnx_cudnn
