#include "runtime/ops/small_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/log/check.h"

namespace onnx_cudnn {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Numbers of sign, exponent and mantissa bits. `fnuz` types have no negative zero: its code is NaN.
struct FloatForm {
  int exponent_bits, mantissa_bits, bias;
  int finite;     // codes 0 … finite - 1 are the finite nonnegative numbers
  bool infinity;  // the code after them is infinity
  bool nan;
  bool fnuz;

  int sign() const { return 1 << (exponent_bits + mantissa_bits); }
  int nan_code() const { return fnuz ? sign() : sign() - 1; }
};

constexpr FloatForm kE4M3FN = {4, 3, 7, 0x7f, false, true, false};
constexpr FloatForm kE4M3FNUZ = {4, 3, 8, 0x80, false, true, true};
constexpr FloatForm kE5M2 = {5, 2, 15, 0x7c, true, true, false};
constexpr FloatForm kE5M2FNUZ = {5, 2, 16, 0x80, false, true, true};
constexpr FloatForm kE2M1 = {2, 1, 1, 8, false, false, false};

const FloatForm& FormOf(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return kE4M3FN;
    case DType::kF8E4M3FNUZ:
      return kE4M3FNUZ;
    case DType::kF8E5M2:
      return kE5M2;
    case DType::kF8E5M2FNUZ:
      return kE5M2FNUZ;
    default:
      CHECK(dtype == DType::kF4E2M1) << NameOf(dtype) << " is not a small float";
      return kE2M1;
  }
}

// The value of a code without its sign, as if all exponents were those of finite numbers.
float Magnitude(const FloatForm& form, int code) {
  const int exponent = code >> form.mantissa_bits;
  const int mantissa = code & ((1 << form.mantissa_bits) - 1);
  const int hidden = exponent == 0 ? 0 : 1 << form.mantissa_bits;
  return std::ldexp(static_cast<float>(hidden + mantissa),
                    std::max(exponent, 1) - form.bias - form.mantissa_bits);
}

float DecodeFloat(const FloatForm& form, int code) {
  const bool negative = (code & form.sign()) != 0;
  const int magnitude = code & (form.sign() - 1);
  if (form.fnuz && code == form.sign()) return kNaN;
  if (magnitude < form.finite) {
    const float number = Magnitude(form, magnitude);
    return negative ? -number : number;
  }
  if (!form.infinity || magnitude > form.finite) return kNaN;
  return negative ? -kInfinity : kInfinity;
}

// The code nearest to a number ≥ 0; `finite` if the number is above the largest.
int NearestMagnitude(const FloatForm& form, float number) {
  int low = 0, high = form.finite;  // Magnitude(low) <= number < Magnitude(high)
  if (number >= Magnitude(form, high)) return high;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (Magnitude(form, middle) <= number ? low : high) = middle;
  }
  const float below = number - Magnitude(form, low), above = Magnitude(form, high) - number;
  if (below != above) return below < above ? low : high;
  return low % 2 == 0 ? low : high;
}

int EncodeFloat(const FloatForm& form, float number, bool saturate) {
  if (std::isnan(number)) {
    if (form.nan) return form.nan_code() | (!form.fnuz && std::signbit(number) ? form.sign() : 0);
    return form.sign();  // minus zero
  }
  int code = NearestMagnitude(form, std::abs(number));
  if (code == form.finite) {
    if (saturate || !form.nan) {
      code = form.finite - 1;
    } else if (!form.infinity) {
      code = form.nan_code();
    }
  }
  const bool keeps_sign = !form.fnuz || (code != 0 && code != form.nan_code());
  return code | (keeps_sign && std::signbit(number) ? form.sign() : 0);
}

constexpr int kE8M0Bias = 127, kE8M0NaN = 255;

float DecodeE8M0(int code) { return code == kE8M0NaN ? kNaN : std::ldexp(1.0F, code - kE8M0Bias); }

bool IsSigned(DType dtype) { return dtype == DType::kI4 || dtype == DType::kI2; }

float DecodeInteger(DType dtype, int code) {
  const int count = 1 << BitsOf(dtype);
  return static_cast<float>(IsSigned(dtype) && code >= count / 2 ? code - count : code);
}

int EncodeInteger(DType dtype, float number) {
  const int count = 1 << BitsOf(dtype);
  const float lowest = static_cast<float>(IsSigned(dtype) ? -count / 2 : 0);
  const float highest = lowest + static_cast<float>(count - 1);
  if (!(number > lowest)) return static_cast<int>(lowest) & (count - 1);
  return static_cast<int>(std::nearbyint(std::min(number, highest))) & (count - 1);
}

using Table = std::array<float, 256>;  // by code
using Tables = std::array<Table, kLastDType + 1>;

Tables DecodeAll() {
  Tables tables = {};
  for (int dtype = 0; dtype <= kLastDType; ++dtype) {
    const DType type = static_cast<DType>(dtype);
    for (int code = 0; kSmallTypes.Has(type) && code < 1 << BitsOf(type); ++code)
      tables[dtype][code] = DecodeSmall(type, static_cast<uint8_t>(code));
  }
  return tables;
}

const Table& TableOf(DType dtype) {
  static const auto& tables = *new Tables(DecodeAll());
  return tables[static_cast<int>(dtype)];
}

}  // namespace

float DecodeSmall(DType dtype, uint8_t code) {
  const int bits = code & ((1 << BitsOf(dtype)) - 1);
  if (kSmallIntegerTypes.Has(dtype)) return DecodeInteger(dtype, bits);
  return dtype == DType::kF8E8M0 ? DecodeE8M0(bits) : DecodeFloat(FormOf(dtype), bits);
}

uint8_t EncodeSmall(DType dtype, float number, bool saturate) {
  return static_cast<uint8_t>(kSmallIntegerTypes.Has(dtype)
                                  ? EncodeInteger(dtype, number)
                                  : EncodeFloat(FormOf(dtype), number, saturate));
}

void LoadSmall(DType dtype, const void* tensor, int64_t begin, int64_t n, float* to) {
  const Table& table = TableOf(dtype);
  const int bits = BitsOf(dtype), per_byte = 8 / bits, mask = (1 << bits) - 1;
  const uint8_t* bytes = static_cast<const uint8_t*>(tensor);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = begin + i;
    to[i] = table[bytes[at / per_byte] >> at % per_byte * bits & mask];
  }
}

void StoreSmall(DType dtype, const float* from, int64_t n, bool saturate, void* tensor,
                int64_t begin) {
  const int bits = BitsOf(dtype), per_byte = 8 / bits;
  uint8_t* bytes = static_cast<uint8_t*>(tensor) + begin / per_byte;
  for (int64_t i = 0; i < n; i += per_byte, ++bytes) {
    *bytes = 0;
    for (int64_t k = 0; k < std::min<int64_t>(per_byte, n - i); ++k)
      *bytes |= static_cast<uint8_t>(EncodeSmall(dtype, from[i + k], saturate) << k * bits);
  }
}

}  // namespace onnx_cudnn
