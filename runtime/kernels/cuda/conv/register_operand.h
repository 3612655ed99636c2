// Weights of our wgmma kernels: rounding, and the fragments of weights that are the register
// operand (filters on M).
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/plan/step.h"

namespace onnx_cudnn {

// The bits of an element as wgmma multiplies them: halves unchanged, f32 rounded to TF32 (10
// mantissa bits), to nearest, ties to even. Infinities and NaNs are kept.
inline uint16_t WgmmaBits(uint16_t half) { return half; }
inline uint32_t WgmmaBits(uint32_t bits) {
  constexpr uint32_t kExponent = 0x7f800000, kDropped = 0x1fff;
  if ((bits & kExponent) == kExponent) return bits;
  return (bits + kDropped / 2 + (bits >> 13 & 1)) & ~kDropped;
}

// The constant `weight` (its position among the Candidate's constants, f16 or bf16, 64 filters
// outermost) as `steps` fragments of 64 × 16, in the order in which 128 threads read 16 bytes each.
//   recipe  a name for the function `index`
//   index   the element of a filter at position `k` of step `step`; -1: zero
Derived RegisterOperand(int weight, int steps, std::string recipe,
                        std::function<int64_t(int step, int k)> index);
// The same for an f32 weight, rounded to TF32: fragments of 64 × 8.
Derived Tf32RegisterOperand(int weight, int steps, std::string recipe,
                            std::function<int64_t(int step, int k)> index);

// The constant `bias` for 64 filters in f32; zeros if there is none (`bias` < 0; `weight` is then
// any constant).
Derived FloatBias(int bias, int weight);

}  // namespace onnx_cudnn
