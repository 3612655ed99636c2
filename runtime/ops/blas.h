// Matrix products: the only place that calls the BLAS (blas_serial.cc). Matrices are row-major;
// `ld` is the distance between rows in elements.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "onnx_cudnn/export.h"
#include "runtime/base/thread_pool.h"

namespace onnx_cudnn {

// c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c, op(x) being x or its transpose. c is not
// read when beta is 0.
template <typename T>
struct GemmProblem {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;
  bool transpose_a = false;
  const T* b = nullptr;
  int64_t ldb = 0;
  bool transpose_b = false;
  T* c = nullptr;
  int64_t ldc = 0;
  T alpha = 1;
  T beta = 0;

  // The product restricted to rows [begin, end) or columns [begin, end) of c.
  GemmProblem Rows(int64_t begin, int64_t end) const;
  GemmProblem Columns(int64_t begin, int64_t end) const;
};

// Unimplemented if an extent is beyond the BLAS's integers.
absl::Status CheckExtents(int64_t m, int64_t n, int64_t k);

// Runs on the calling thread only; any number of threads may call at once. Throws bad_alloc if
// there is no memory for a buffer.
ONNX_CUDNN_API void GemmSerial(const GemmProblem<float>& p);
ONNX_CUDNN_API void GemmSerial(const GemmProblem<double>& p);

// Splits p into products of some of its rows or columns and calls f with each on the pool's
// threads.
template <typename T>
void ForEachPart(ThreadPool& threads, const GemmProblem<T>& p,
                 absl::FunctionRef<void(const GemmProblem<T>&)> f);

// Runs on the pool's threads.
template <typename T>
void Gemm(ThreadPool& threads, const GemmProblem<T>& p);

// The products problem(0) … problem(count - 1), of equal extents, on the pool's threads.
template <typename T>
void GemmStack(ThreadPool& threads, int64_t count,
               absl::FunctionRef<GemmProblem<T>(int64_t)> problem);

template <typename T>
GemmProblem<T> GemmProblem<T>::Rows(int64_t begin, int64_t end) const {
  GemmProblem part = *this;
  part.m = end - begin;
  part.a = a + begin * (transpose_a ? 1 : lda);
  part.c = c + begin * ldc;
  return part;
}

template <typename T>
GemmProblem<T> GemmProblem<T>::Columns(int64_t begin, int64_t end) const {
  GemmProblem part = *this;
  part.n = end - begin;
  part.b = b + begin * (transpose_b ? ldb : 1);
  part.c = c + begin;
  return part;
}

}  // namespace onnx_cudnn
