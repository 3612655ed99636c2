#include "runtime/ops/float_math.h"

#include <bit>
#include <cmath>

#include "runtime/ops/cpu_clones.h"

namespace onnx_cudnn {
namespace {

// 2^n for -126 ≤ n ≤ 127. Unsigned, so that it is defined for any n, such as from NaN.
[[gnu::always_inline]] inline float PowerOfTwo(uint32_t n) {
  return std::bit_cast<float>((n + 127u) << 23);
}

// Cephes expf: e^x = 2^n · e^r with |r| ≤ ln 2 / 2.
[[gnu::always_inline]] inline float Exp(float x) {
  constexpr float kRounder = 12582912.0F;  // 1.5 · 2^23: its low bits hold the rounded number
  x = x > 89.0F ? 89.0F : x;               // infinity
  x = x < -104.0F ? -104.0F : x;           // zero
  const float shifted = x * 1.44269504088896341F + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  // Scaled in two steps, because 2^n may be outside the normal numbers.
  const int32_t exponent =
      static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRounder));
  const int32_t half = exponent >> 1;
  return p * PowerOfTwo(static_cast<uint32_t>(half)) *
         PowerOfTwo(static_cast<uint32_t>(exponent) - static_cast<uint32_t>(half));
}

// Cephes tanhf.
[[gnu::always_inline]] inline float Tanh(float x) {
  const float z = x * x, magnitude = std::abs(x);
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const float near_zero = p * z * x + x;
  const float far = std::copysign(1.0F - 2.0F / (Exp(2.0F * magnitude) + 1.0F), x);
  return magnitude < 0.625F ? near_zero : far;
}

// Eigen's rational approximation; beyond ±4 erf is ±1 in f32.
[[gnu::always_inline]] inline float Erf(float x) {
  x = x > 4.0F ? 4.0F : x;
  x = x < -4.0F ? -4.0F : x;
  const float z = x * x;
  float p = -2.72614225801306e-10F;
  p = p * z + 2.77068142495902e-08F;
  p = p * z - 2.10102402082508e-06F;
  p = p * z - 5.69250639462346e-05F;
  p = p * z - 7.34990630326855e-04F;
  p = p * z - 2.95459980854025e-03F;
  p = p * z - 1.60960333262415e-02F;
  float q = -1.45660718464996e-05F;
  q = q * z - 2.13374055278905e-04F;
  q = q * z - 1.68282697438203e-03F;
  q = q * z - 7.37332916720468e-03F;
  q = q * z - 1.42647390514189e-02F;
  return x * p / q;
}

[[gnu::always_inline]] inline float Sigmoid(float x) { return 1.0F / (1.0F + Exp(-x)); }
[[gnu::always_inline]] inline float Sqrt(float x) { return std::sqrt(x); }
[[gnu::always_inline]] inline float Floor(float x) { return std::floor(x); }
[[gnu::always_inline]] inline float Ceil(float x) { return std::ceil(x); }
[[gnu::always_inline]] inline float Round(float x) { return std::nearbyint(x); }

// In this file alone: g++ 12 exports clones from a shared library otherwise, hidden or not.
template <float (*kFunction)(float)>
ONNX_CUDNN_CPU_CLONES void Each(const float* x, float* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = kFunction(x[i]);
}

}  // namespace

void ExpOf(const float* x, float* y, int64_t n) { Each<Exp>(x, y, n); }
void SigmoidOf(const float* x, float* y, int64_t n) { Each<Sigmoid>(x, y, n); }
void TanhOf(const float* x, float* y, int64_t n) { Each<Tanh>(x, y, n); }
void ErfOf(const float* x, float* y, int64_t n) { Each<Erf>(x, y, n); }
void SqrtOf(const float* x, float* y, int64_t n) { Each<Sqrt>(x, y, n); }
void FloorOf(const float* x, float* y, int64_t n) { Each<Floor>(x, y, n); }
void CeilOf(const float* x, float* y, int64_t n) { Each<Ceil>(x, y, n); }
void RoundOf(const float* x, float* y, int64_t n) { Each<Round>(x, y, n); }

}  // namespace onnx_cudnn
