// 16-bit floats as bits, converted to and from float with round-to-nearest-even. Branchless, so
// that loops vectorize.
#pragma once

#include <bit>
#include <cstdint>

namespace onnx_cudnn {

struct Float16 {
  uint16_t bits = 0;
};
struct BFloat16 {
  uint16_t bits = 0;
};

inline float ToFloat(BFloat16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }
inline float ToFloat(Float16 x) {
  const uint32_t sign = uint32_t{x.bits & 0x8000u} << 16;
  const uint32_t rest = x.bits & 0x7fffu;
  const float subnormal = static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f;
  uint32_t magnitude = (rest << 13) + (112u << 23);
  magnitude = rest < 0x0400u ? std::bit_cast<uint32_t>(subnormal) : magnitude;
  magnitude = rest >= 0x7c00u ? 0x7f800000u | (rest & 0x3ffu) << 13 : magnitude;
  return std::bit_cast<float>(sign | magnitude);
}

inline BFloat16 ToBFloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
inline Float16 ToFloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t rest = bits & 0x7fffffffu;
  // Below 2^-14, adding 0.5 leaves the rounded subnormal in the low bits; 65520 and more round to
  // infinity.
  const float shifted = std::bit_cast<float>(rest) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
  const uint32_t normal = (rest + 0xfffu + (rest >> 13 & 1u) - (112u << 23)) >> 13;
  uint32_t half = rest < 0x38800000u ? subnormal : normal;
  half = rest >= 0x477ff000u ? 0x7c00u : half;
  half = rest > 0x7f800000u ? 0x7e00u : half;
  return {static_cast<uint16_t>(sign | half)};
}

}  // namespace onnx_cudnn
