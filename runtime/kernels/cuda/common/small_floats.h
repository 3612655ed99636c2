// 8-bit floats to numbers and back, with the results of runtime/ops/small_types.h. Plain C++, so
// that a test can compare the two on the host.
#pragma once

#include <cstdint>
#include <cstring>

#include "onnx_cudnn/dtype.h"
#include "runtime/kernels/cuda/common/fast_divide.cuh"

namespace onnx_cudnn {

// Numbers of sign, exponent and mantissa bits. `fnuz`: no negative zero; its code is NaN.
struct SmallFloatForm {
  int mantissa_bits, bias;
  int finite;     // codes 0 … finite - 1 are the finite nonnegative numbers
  bool infinity;  // the code after them is infinity
  bool fnuz;
};

ONNX_CUDNN_BOTH SmallFloatForm SmallFloatFormOf(DType dtype) {
  if (dtype == DType::kF8E4M3FN) return {3, 7, 0x7f, false, false};
  if (dtype == DType::kF8E4M3FNUZ) return {3, 8, 0x80, false, true};
  if (dtype == DType::kF8E5M2) return {2, 15, 0x7c, true, false};
  return {2, 16, 0x80, false, true};  // kF8E5M2FNUZ
}

ONNX_CUDNN_BOTH float FloatOfBits(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof(number));
  return number;
}
ONNX_CUDNN_BOTH uint32_t BitsOfFloat(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return bits;
}
ONNX_CUDNN_BOTH float PowerOfTwo(int exponent) {
  return FloatOfBits(static_cast<uint32_t>(exponent + 127) << 23);
}

ONNX_CUDNN_BOTH float DecodeSmallFloat(const SmallFloatForm& form, uint8_t code) {
  constexpr uint32_t kNaN = 0x7fc00000u, kInfinity = 0x7f800000u;
  const uint32_t sign = static_cast<uint32_t>(code & 0x80) << 24;
  const int magnitude = code & 0x7f;
  if (form.fnuz && code == 0x80) return FloatOfBits(kNaN);
  if (magnitude > form.finite || (magnitude == form.finite && !form.infinity)) {
    return FloatOfBits(kNaN);
  }
  if (magnitude == form.finite) return FloatOfBits(sign | kInfinity);
  const int least = 1 << form.mantissa_bits;  // code of the smallest normal number
  if (magnitude < least) {
    const float number =
        static_cast<float>(magnitude) * PowerOfTwo(1 - form.bias - form.mantissa_bits);
    return sign != 0 ? -number : number;
  }
  const uint32_t rebased = static_cast<uint32_t>(magnitude + (127 - form.bias) * least);
  return FloatOfBits(sign | rebased << (23 - form.mantissa_bits));
}

// The code of the nearest number, ties to even. Numbers above the largest become the largest with
// `saturate`, else infinity or NaN.
ONNX_CUDNN_BOTH uint8_t EncodeSmallFloat(const SmallFloatForm& form, float number, bool saturate) {
  const uint32_t bits = BitsOfFloat(number), rest = bits & 0x7fffffffu;
  const int sign = bits >> 31 != 0 ? 0x80 : 0;
  const int nan = form.fnuz ? 0x80 : 0x7f;
  if (rest > 0x7f800000u) return static_cast<uint8_t>(nan | (form.fnuz ? 0 : sign));
  const int shift = 23 - form.mantissa_bits;
  int code;
  if (static_cast<int>(rest >> 23) >= 128 - form.bias) {  // normal in the small type
    const uint32_t rounded = rest + ((1u << (shift - 1)) - 1) + (rest >> shift & 1u);
    code = static_cast<int>(rounded >> shift) - ((127 - form.bias) << form.mantissa_bits);
  } else {
    // Adding and subtracting 2^23 rounds to whole units.
    const float units = FloatOfBits(rest) * PowerOfTwo(form.bias - 1 + form.mantissa_bits);
    code = static_cast<int>(BitsOfFloat(units + 0x1p23F) - BitsOfFloat(0x1p23F));
  }
  if (code >= form.finite) {
    code = saturate ? form.finite - 1 : form.infinity ? form.finite : nan;
  }
  const bool keeps_sign = !form.fnuz || (code != 0 && code != nan);
  return static_cast<uint8_t>(code | (keeps_sign ? sign : 0));
}

}  // namespace onnx_cudnn
