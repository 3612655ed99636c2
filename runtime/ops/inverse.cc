// com.microsoft.Inverse: the inverses of [n, n] matrices. ONNX has no op for them.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/dispatch.h"
#include "runtime/ops/scalar_us.h"
#include "runtime/ops/widen.h"

namespace onnx_cudnn {
namespace {

// Subtracts `factor` times row `from` of `x` [n, n] from row `to`, from column `begin` on.
template <typename T>
void SubtractRow(T* x, int64_t n, T factor, int64_t from, int64_t to, int64_t begin) {
  for (int64_t i = begin; i < n; ++i) x[to * n + i] -= factor * x[from * n + i];
}

// LU with partial pivoting, then the solution for the unit matrix. A pivot of 0 is divided by,
// which gives infinities and NaN. `a` [n, n] is overwritten; x [n, n] gets the inverse.
template <typename T>
void Invert(T* a, int64_t n, T* x) {
  std::fill(x, x + n * n, T{0});
  for (int64_t i = 0; i < n; ++i) x[i * n + i] = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t row = k + 1; row < n; ++row) {
      if (std::abs(a[row * n + k]) > std::abs(a[pivot * n + k])) pivot = row;
    }
    if (pivot != k) {
      std::swap_ranges(&a[k * n], &a[k * n] + n, &a[pivot * n]);
      std::swap_ranges(&x[k * n], &x[k * n] + n, &x[pivot * n]);
    }
    for (int64_t row = k + 1; row < n; ++row) {
      const T below = a[row * n + k];
      const T factor = a[k * n + k] == 0 ? below : below / a[k * n + k];
      SubtractRow(a, n, factor, k, row, k + 1);
      SubtractRow(x, n, factor, k, row, 0);
    }
  }
  for (int64_t k = n; k-- > 0;) {
    for (int64_t i = 0; i < n; ++i) x[k * n + i] /= a[k * n + k];
    for (int64_t row = 0; row < k; ++row) SubtractRow(x, n, a[row * n + k], k, row, 0);
  }
}

absl::Status ReferenceInverse(const ReferenceArgs& args) {
  const absl::Span<const int64_t> dims = args.in[0].dims;
  const int64_t n = dims.back();
  RETURN_IF_ERROR(ExpectSquares("X", dims));
  RETURN_IF_ERROR(ExpectDims("Y", args.out[0].dims, dims));
  if (args.out[0].elements() == 0) return absl::OkStatus();
  return DispatchFloat(args.in[0].dtype, [&](auto type) {
    using T = decltype(type);
    const T* x = static_cast<const T*>(args.in[0].data);
    T* y = static_cast<T*>(args.out[0].data);
    args.threads.ParallelFor(args.out[0].elements() / (n * n), GrainFor(3 * n * n * n),
                             [&](int64_t i, int64_t end) {
                               std::vector<T> matrix;
                               for (; i < end; ++i) {
                                 matrix.assign(x + i * n * n, x + (i + 1) * n * n);
                                 Invert(matrix.data(), n, y + i * n * n);
                               }
                             });
    return absl::OkStatus();
  });
}

// 2/3 n³ for the elimination in the matrix, n³ below and n³ above the diagonal for the solution.
Cost InverseCost(const Node& node) {
  const Value& x = node.input(0);
  return {.us = ScalarUs(x.elements()),  // for the pivots and quotients
          .flops = 8 * x.elements() * x.dim(x.rank() - 1) / 3,
          .bytes = IoBytes(node)};
}

}  // namespace

OpDef InverseOp() {
  return WidenedOp<ReferenceInverse>({.types = {DType::kF32, DType::kF16, DType::kF64},
                                      .check = CheckMatrices,
                                      .cost = InverseCost});
}

}  // namespace onnx_cudnn
