// Element types. Standard library only: the public header onnx_cudnn/session.h includes it.
#pragma once

#include <cstdint>
#include <string_view>

#include "onnx_cudnn/export.h"

namespace onnx_cudnn {

// Numbered as onnx.TensorProto.DataType.
enum class DType : uint8_t {
  kUndefined = 0,
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kString = 8,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kC64 = 14,
  kC128 = 15,
  kBF16 = 16,
  kF8E4M3FN = 17,
  kF8E4M3FNUZ = 18,
  kF8E5M2 = 19,
  kF8E5M2FNUZ = 20,
  kU4 = 21,
  kI4 = 22,
  kF4E2M1 = 23,
  kF8E8M0 = 24,
  kU2 = 25,
  kI2 = 26,
};
inline constexpr int kLastDType = 26;

ONNX_CUDNN_API std::string_view NameOf(DType dtype);  // "f32", "i64", "string"
// Size of an element in memory; 0 for kUndefined and kString.
ONNX_CUDNN_API int BitsOf(DType dtype);

}  // namespace onnx_cudnn
