#pragma once

#include <cstdint>

namespace onnx_cudnn {

// Σ f(x[i]) in double, in eight interleaved partial sums.
template <typename T, typename F>
double SumOf(const T* x, int64_t n, F&& f) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += f(static_cast<double>(x[i + lane]));
  }
  double sum = 0;
  for (; i < n; ++i) sum += f(static_cast<double>(x[i]));
  for (double lane : lanes) sum += lane;
  return sum;
}

template <typename T>
double SumOf(const T* x, int64_t n) {
  return SumOf(x, n, [](double v) { return v; });
}

}  // namespace onnx_cudnn
