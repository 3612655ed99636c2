#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

// Gaussian elimination with partial pivoting. `a` [n, n] is overwritten.
double Determinant(std::vector<double>& a, int64_t n) {
  double determinant = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t row = k + 1; row < n; ++row) {
      if (std::abs(a[row * n + k]) > std::abs(a[pivot * n + k])) pivot = row;
    }
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(&a[k * n], &a[k * n] + n, &a[pivot * n]);
      determinant = -determinant;
    }
    determinant *= a[k * n + k];
    for (int64_t row = k + 1; row < n; ++row) {
      const double factor = a[row * n + k] / a[k * n + k];
      for (int64_t i = k; i < n; ++i) a[row * n + i] -= factor * a[k * n + i];
    }
  }
  return determinant;
}

absl::Status ReferenceDet(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const int64_t n = dims.back();
  RETURN_IF_ERROR(ExpectSquares("X", dims));
  RETURN_IF_ERROR(ExpectDims("output", args.out[0].dims, dims.first(dims.size() - 2)));
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    using T = decltype(type);
    const T* x = static_cast<const T*>(args.in[0].data);
    T* y = static_cast<T*>(args.out[0].data);
    args.threads.ParallelFor(args.out[0].elements(), GrainFor(n * n * n),
                             [&](int64_t i, int64_t end) {
                               for (; i < end; ++i) {
                                 std::vector<double> matrix(x + i * n * n, x + (i + 1) * n * n);
                                 y[i] = static_cast<T>(Determinant(matrix, n));
                               }
                             });
    return absl::OkStatus();
  });
}

// Elimination updates the elements right of and below each pivot.
Cost DetCost(const Node& node) {
  const Value& x = node.input(0);
  return {.us = ScalarUs(x.elements()),  // for the pivots
          .flops = 2 * x.elements() * x.dim(x.rank() - 1) / 3,
          .bytes = IoBytes(node)};
}

}  // namespace

OpDef DetOp() { return WidenedOp<ReferenceDet>({.check = CheckMatrices, .cost = DetCost}); }

}  // namespace onnx_cudnn
