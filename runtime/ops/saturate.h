#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace onnx_cudnn {

// `number` as an integer type of at most 32 bits: halves to even, beyond its range its nearest end,
// NaN its lowest.
template <typename T>
T Saturate(double number) {
  constexpr double kLowest = std::numeric_limits<T>::lowest();
  constexpr double kHighest = std::numeric_limits<T>::max();
  if (!(number > kLowest)) return std::numeric_limits<T>::lowest();
  return static_cast<T>(std::nearbyint(std::min(number, kHighest)));
}

}  // namespace onnx_cudnn
