// Weights of our wgmma kernels: how they are rounded, and channels on M, weights as the register
// operand.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/plan/step.h"

namespace onnx_cudnn {

// What wgmma multiplies of an element's bits: halves as they are, f32 with tf32's 10 bits of
// mantissa, to nearest, ties to even. Infinities and NaNs stay.
inline uint16_t WgmmaBits(uint16_t half) { return half; }
inline uint32_t WgmmaBits(uint32_t bits) {
  constexpr uint32_t kExponent = 0x7f800000, kDropped = 0x1fff;
  if ((bits & kExponent) == kExponent) return bits;
  return (bits + kDropped / 2 + (bits >> 13 & 1)) & ~kDropped;
}

// The weight constant `weight` (a position among the Candidate's constants, f16 or bf16, 64 filters
// outermost) as `steps` fragments of 64 × 16 in the order in which 128 threads read 16 bytes each.
//   recipe  names what `index` does
//   index   which element of a filter stands at element `k` of step `step`; -1: zero
Derived RegisterOperand(int weight, int steps, std::string recipe,
                        std::function<int64_t(int step, int k)> index);
// The same of an f32 weight, whose elements are rounded to tf32: fragments of 64 × 8.
Derived Tf32RegisterOperand(int weight, int steps, std::string recipe,
                            std::function<int64_t(int step, int k)> index);

// The bias constant `bias` of 64 filters in f32; zeros where there is none (`bias` < 0; `weight` is
// any constant).
Derived FloatBias(int bias, int weight);

}  // namespace onnx_cudnn
