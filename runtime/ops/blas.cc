#include "runtime/ops/blas.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"
#include "runtime/ops/dispatch.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kSmallProduct = 32 * 32 * 32;  // below this, a second thread does not pay off
constexpr int64_t kTile = 48;                    // a multiple of the BLAS kernels' tiles

}  // namespace

absl::Status CheckExtents(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kMax = std::numeric_limits<int>::max();  // of the BLAS's integers
  if (m <= kMax && n <= kMax && k <= kMax) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrFormat(
      "a product of extents %d, %d and %d, expected at most %d each", m, n, k, kMax));
}

template <typename T>
void ForEachPart(ThreadPool& threads, const GemmProblem<T>& p,
                 absl::FunctionRef<void(const GemmProblem<T>&)> f) {
  if (threads.threads() == 1 || p.m * p.n * p.k <= kSmallProduct) return f(p);
  const bool by_rows = p.m >= p.n;
  const int64_t extent = by_rows ? p.m : p.n;
  const int64_t tiles = (extent + kTile - 1) / kTile;
  const int64_t grain = (tiles + threads.threads() - 1) / threads.threads();
  threads.ParallelFor(tiles, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kTile, last = std::min(extent, end * kTile);
    f(by_rows ? p.Rows(first, last) : p.Columns(first, last));
  });
}

template <typename T>
void Gemm(ThreadPool& threads, const GemmProblem<T>& p) {
  ForEachPart<T>(threads, p, [](const GemmProblem<T>& part) { GemmSerial(part); });
}

template <typename T>
void GemmStack(ThreadPool& threads, int64_t count,
               absl::FunctionRef<GemmProblem<T>(int64_t)> problem) {
  if (count < threads.threads()) {
    for (int64_t i = 0; i < count; ++i) Gemm(threads, problem(i));
    return;
  }
  const GemmProblem<T> first = problem(0);
  threads.ParallelFor(count, GrainFor(first.m * first.n * first.k), [&](int64_t i, int64_t end) {
    for (; i < end; ++i) GemmSerial(problem(i));
  });
}

template void ForEachPart(ThreadPool&, const GemmProblem<float>&,
                          absl::FunctionRef<void(const GemmProblem<float>&)>);
template void ForEachPart(ThreadPool&, const GemmProblem<double>&,
                          absl::FunctionRef<void(const GemmProblem<double>&)>);
template void Gemm(ThreadPool&, const GemmProblem<float>&);
template void Gemm(ThreadPool&, const GemmProblem<double>&);
template void GemmStack(ThreadPool&, int64_t, absl::FunctionRef<GemmProblem<float>(int64_t)>);
template void GemmStack(ThreadPool&, int64_t, absl::FunctionRef<GemmProblem<double>(int64_t)>);

}  // namespace onnx_cudnn
