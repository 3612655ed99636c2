#include "passes/rewrite/utils/lossless_cast.h"

namespace onnx_cudnn {
namespace {

// The values of a dtype: a sign, `digits` binary digits, and for floats exponent bits.
struct Numbers {
  bool is_signed;
  int digits;
  int exponent_bits;
};

Numbers NumbersOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {true, 11, 5};
    case DType::kBF16:
      return {true, 8, 8};
    case DType::kF32:
      return {true, 24, 8};
    case DType::kF64:
      return {true, 53, 11};
    case DType::kBool:
      return {false, 1, 0};
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return {true, BitsOf(dtype) - 1, 0};
    default:
      return {false, BitsOf(dtype), 0};
  }
}

}  // namespace

bool HoldsEveryNumber(DType to, DType from) {
  if (!kFixedSizeTypes.Has(to) || !kFixedSizeTypes.Has(from)) return false;
  const Numbers wide = NumbersOf(to), narrow = NumbersOf(from);
  return wide.digits >= narrow.digits && wide.exponent_bits >= narrow.exponent_bits &&
         (wide.is_signed || !narrow.is_signed);
}

}  // namespace onnx_cudnn
