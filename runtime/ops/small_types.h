// Elements of less than 16 bits that C++ has no type for: 2- and 4-bit integers, 4- and 8-bit
// floats. f32 holds every one of them exactly.
#pragma once

#include <cstdint>

#include "runtime/graph/types.h"

namespace onnx_cudnn {

inline constexpr DTypeSet kSmallIntegerTypes = {DType::kU4, DType::kI4, DType::kU2, DType::kI2};
inline constexpr DTypeSet kSmallFloatTypes = {DType::kF8E4M3FN, DType::kF8E4M3FNUZ,
                                              DType::kF8E5M2,   DType::kF8E5M2FNUZ,
                                              DType::kF8E8M0,   DType::kF4E2M1};
inline constexpr DTypeSet kSmallTypes = kSmallIntegerTypes | kSmallFloatTypes;

// The element whose bits are the lowest of `code`.
float DecodeSmall(DType dtype, uint8_t code);

// The nearest element, halves to even. A number above the largest one (infinity too) is that one
// with `saturate`, else infinity or, where the type has none, NaN. Types without NaN, and integers,
// always saturate; NaN is an integer's lowest element and minus zero of kF4E2M1. No kF8E8M0.
uint8_t EncodeSmall(DType dtype, float number, bool saturate);

// Elements [begin, begin + n) of a tensor of a small type as numbers, and back. StoreSmall writes
// whole bytes: `begin` is a multiple of the elements of a byte, and a last byte that is not full
// ends in zeros.
void LoadSmall(DType dtype, const void* tensor, int64_t begin, int64_t n, float* to);
void StoreSmall(DType dtype, const float* from, int64_t n, bool saturate, void* tensor,
                int64_t begin);

}  // namespace onnx_cudnn
