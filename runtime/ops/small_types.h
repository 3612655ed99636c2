// Element types of less than 16 bits, which C++ lacks: 2- and 4-bit integers, 4- and 8-bit floats.
// f32 represents all their values exactly.
#pragma once

#include <cstdint>

#include "runtime/graph/types.h"

namespace onnx_cudnn {

inline constexpr DTypeSet kSmallIntegerTypes = {DType::kU4, DType::kI4, DType::kU2, DType::kI2};
inline constexpr DTypeSet kSmallFloatTypes = {DType::kF8E4M3FN, DType::kF8E4M3FNUZ,
                                              DType::kF8E5M2,   DType::kF8E5M2FNUZ,
                                              DType::kF8E8M0,   DType::kF4E2M1};
inline constexpr DTypeSet kSmallTypes = kSmallIntegerTypes | kSmallFloatTypes;

// The element whose bits are the low bits of `code`.
float DecodeSmall(DType dtype, uint8_t code);

// The code of the nearest element, ties to even. A number above the largest one (infinity too)
// saturates with `saturate`, else becomes infinity or, if the type has none, NaN. Integers and
// types without NaN always saturate; NaN becomes the lowest integer, and minus zero in kF4E2M1.
// kF8E8M0 is not supported.
uint8_t EncodeSmall(DType dtype, float number, bool saturate);

// Converts elements [begin, begin + n) of a tensor of a small type to numbers and back. StoreSmall
// writes whole bytes: `begin` must start a byte, and the rest of an incomplete last byte is zero.
void LoadSmall(DType dtype, const void* tensor, int64_t begin, int64_t n, float* to);
void StoreSmall(DType dtype, const float* from, int64_t n, bool saturate, void* tensor,
                int64_t begin);

}  // namespace onnx_cudnn
