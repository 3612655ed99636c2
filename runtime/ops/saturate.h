#pragma once

#include <cmath>
#include <limits>

namespace onnx_cudnn {

// Converts `number` to an integer type: ties to even; out of range saturates; NaN becomes the
// lowest value.
template <typename T>
T Saturate(double number) {
  constexpr auto kLowest = static_cast<double>(std::numeric_limits<T>::lowest());
  constexpr auto kHighest = static_cast<double>(std::numeric_limits<T>::max());  // 2^63 of i64
  if (!(number > kLowest)) return std::numeric_limits<T>::lowest();
  if (number >= kHighest) return std::numeric_limits<T>::max();
  return static_cast<T>(std::nearbyint(number));
}

}  // namespace onnx_cudnn
