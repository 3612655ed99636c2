#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace onnx_cudnn {

// Discrete Fourier transforms of one length, by Cooley and Tukey's recursion on its smallest prime
// factor: n log n for products of small primes, n² for a prime.
class Fourier {
 public:
  using Complex = std::complex<double>;
  // length ≥ 1. The inverse transform divides by the length.
  Fourier(int64_t length, bool inverse);

  // The number of operations of a transform of `length`.
  static int64_t Flops(int64_t length);

  int64_t length() const { return length_; }
  // Transforms from[length] to to[length]; any number of threads may call at once.
  void Transform(const Complex* from, Complex* to) const;

 private:
  void Part(const Complex* from, int64_t step, int64_t n, Complex* to, Complex* scratch) const;

  int64_t length_;
  bool inverse_;
  std::vector<Complex> roots_;  // e^(∓2πi k / length)
};

}  // namespace onnx_cudnn
