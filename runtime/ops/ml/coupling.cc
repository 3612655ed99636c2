#include "runtime/ops/ml/coupling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace onnx_cudnn {
namespace {

// A square matrix.
struct Matrix {
  int64_t size;
  std::vector<double> elements = std::vector<double>(size * size, 0.0);

  double& at(int64_t i, int64_t j) { return elements[i * size + j]; }
  double at(int64_t i, int64_t j) const { return elements[i * size + j]; }
};

// r(i,j) is the probability of i if the class is i or j.
Matrix PairProbabilities(absl::Span<const double> decisions, absl::Span<const float> a,
                         absl::Span<const float> b, int64_t classes) {
  constexpr double kLeast = 1e-7;
  Matrix r{classes};
  size_t pair = 0;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      const double p = 1 / (1 + std::exp(a[pair] * decisions[pair] + b[pair]));
      r.at(i, j) = std::clamp(p, kLeast, 1 - kLeast);
      r.at(j, i) = 1 - r.at(i, j);
    }
  }
  return r;
}

// The probabilities p minimize pᵀ Q p: Q(i,i) = Σ r(j,i)², Q(i,j) = -r(j,i) r(i,j).
Matrix QuadraticForm(const Matrix& r) {
  Matrix q{r.size};
  for (int64_t i = 0; i < r.size; ++i) {
    for (int64_t j = 0; j < r.size; ++j) {
      if (j == i) continue;
      q.at(i, i) += r.at(j, i) * r.at(j, i);
      q.at(i, j) = -r.at(j, i) * r.at(i, j);
    }
  }
  return q;
}

// Q p of the current p, and pᵀ Q p.
struct Products {
  std::vector<double> qp;
  double pqp = 0;
};
Products ProductsOf(const Matrix& q, const std::vector<double>& p) {
  Products products{.qp = std::vector<double>(p.size(), 0.0)};
  for (int64_t i = 0; i < q.size; ++i) {
    for (int64_t j = 0; j < q.size; ++j) products.qp[i] += q.at(i, j) * p[j];
    products.pqp += p[i] * products.qp[i];
  }
  return products;
}

// Solves for p[i] with all others fixed, and divides all by their sum.
void Step(const Matrix& q, int64_t i, Products& products, std::vector<double>& p) {
  const double change = (products.pqp - products.qp[i]) / q.at(i, i);
  const double sum = 1 + change;
  products.pqp = (products.pqp + change * (change * q.at(i, i) + 2 * products.qp[i])) / (sum * sum);
  p[i] += change;
  for (int64_t j = 0; j < q.size; ++j) {
    products.qp[j] = (products.qp[j] + change * q.at(i, j)) / sum;
    p[j] /= sum;
  }
}

}  // namespace

std::vector<double> CoupledProbabilities(absl::Span<const double> decisions,
                                         absl::Span<const float> a, absl::Span<const float> b,
                                         int64_t classes) {
  constexpr int kMostIterations = 100;
  const Matrix q = QuadraticForm(PairProbabilities(decisions, a, b, classes));
  const double tolerance = 0.005 / static_cast<double>(classes);
  std::vector<double> p(classes, 1 / static_cast<double>(classes));
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    Products products = ProductsOf(q, p);
    double error = 0;
    for (const double qp : products.qp) error = std::max(error, std::abs(qp - products.pqp));
    if (error < tolerance) break;
    for (int64_t i = 0; i < classes; ++i) Step(q, i, products, p);
  }
  return p;
}

}  // namespace onnx_cudnn
