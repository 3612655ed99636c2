#include "runtime/ops/fourier.h"

#include <algorithm>
#include <numbers>

namespace onnx_cudnn {
namespace {

int64_t SmallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

}  // namespace

Fourier::Fourier(int64_t length, bool inverse) : length_(length), inverse_(inverse) {
  const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(length);
  for (int64_t k = 0; k < length; ++k)
    roots_.push_back(std::polar(1.0, turn * static_cast<double>(k)));
}

int64_t Fourier::Flops(int64_t length) {
  constexpr int64_t kFlopsOfTerm = 8;  // one complex product and one sum
  int64_t terms = 0;
  for (int64_t n = length; n > 1; n /= SmallestFactor(n)) terms += SmallestFactor(n);
  return kFlopsOfTerm * terms * length;
}

void Fourier::Transform(const Complex* from, Complex* to) const {
  std::vector<Complex> scratch(length_);
  Part(from, 1, length_, to, scratch.data());
  if (!inverse_) return;
  for (int64_t k = 0; k < length_; ++k) to[k] /= static_cast<double>(length_);
}

// to[n] of n numbers with stride `step`. The transforms of every p-th number are stored
// consecutively in `scratch`, which corresponds to `to`.
void Fourier::Part(const Complex* from, int64_t step, int64_t n, Complex* to,
                   Complex* scratch) const {
  if (n == 1) {
    *to = *from;
    return;
  }
  const int64_t p = SmallestFactor(n), m = n / p, root_step = length_ / n;
  for (int64_t r = 0; r < p; ++r) Part(from + r * step, step * p, m, scratch + r * m, to + r * m);
  for (int64_t k = 0; k < n; ++k) {
    Complex sum = 0;
    for (int64_t r = 0; r < p; ++r) sum += scratch[r * m + k % m] * roots_[r * k % n * root_step];
    to[k] = sum;
  }
}

}  // namespace onnx_cudnn
