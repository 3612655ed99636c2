#include "runtime/ops/blas.h"

#include <cblas.h>
#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <new>
#include <semaphore>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/ops/dispatch.h"

extern "C" {
// The linker substitutes this for OpenBLAS's function (third_party/CMakeLists.txt), so that only
// our threads are used. OpenBLAS's own threads serve one caller at a time and start with the
// program; a process short of threads or address space then prints messages, hangs or ends.
int __wrap_openblas_num_threads_env() { return 1; }
void* blas_memory_alloc(int position);
void blas_memory_free(void* buffer);
}

namespace onnx_cudnn {
namespace {

constexpr size_t kBufferBytes = size_t{128} << 20;  // OpenBLAS's BUFFER_SIZE
constexpr int kMostBuffers = 128;                   // OpenBLAS's limit

bool CanMap(size_t bytes) {
  void* const room =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED && munmap(room, bytes) == 0;
}

// Makes OpenBLAS map one buffer per core, or as many as leave room for one more; at least one.
int MapBuffers() {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int most = std::clamp(cores, 1, kMostBuffers);
  std::vector<void*> buffers;
  for (int i = 0; i < most && CanMap(i == 0 ? kBufferBytes : 2 * kBufferBytes); ++i) {
    buffers.push_back(blas_memory_alloc(/*position=*/0));
  }
  for (void* buffer : buffers) blas_memory_free(buffer);
  if (buffers.empty()) throw std::bad_alloc();
  return static_cast<int>(buffers.size());
}

// How many more products may start: each needs a buffer, and without one OpenBLAS retries forever.
std::counting_semaphore<>& FreeBuffers() {
  static std::counting_semaphore<> free(MapBuffers());
  return free;
}

CBLAS_TRANSPOSE Op(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }
blasint Int(int64_t x) { return static_cast<blasint>(x); }

void Product(const GemmProblem<float>& p) {
  cblas_sgemm(CblasRowMajor, Op(p.transpose_a), Op(p.transpose_b), Int(p.m), Int(p.n), Int(p.k),
              p.alpha, p.a, Int(p.lda), p.b, Int(p.ldb), p.beta, p.c, Int(p.ldc));
}
void Product(const GemmProblem<double>& p) {
  cblas_dgemm(CblasRowMajor, Op(p.transpose_a), Op(p.transpose_b), Int(p.m), Int(p.n), Int(p.k),
              p.alpha, p.a, Int(p.lda), p.b, Int(p.ldb), p.beta, p.c, Int(p.ldc));
}

// y[rows] = alpha * op(matrix) * x + beta * y
void MatrixVector(bool transpose, int64_t rows, int64_t columns, float alpha, const float* matrix,
                  int64_t ld, const float* x, int64_t step_x, float beta, float* y,
                  int64_t step_y) {
  cblas_sgemv(CblasRowMajor, Op(transpose), Int(rows), Int(columns), alpha, matrix, Int(ld), x,
              Int(step_x), beta, y, Int(step_y));
}
void MatrixVector(bool transpose, int64_t rows, int64_t columns, double alpha, const double* matrix,
                  int64_t ld, const double* x, int64_t step_x, double beta, double* y,
                  int64_t step_y) {
  cblas_dgemv(CblasRowMajor, Op(transpose), Int(rows), Int(columns), alpha, matrix, Int(ld), x,
              Int(step_x), beta, y, Int(step_y));
}

template <typename T>
void Scale(const GemmProblem<T>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j)
      p.c[i * p.ldc + j] = p.beta == 0 ? T{0} : p.beta * p.c[i * p.ldc + j];
  }
}

template <typename T>
void Serial(const GemmProblem<T>& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) return Scale(p);
  if ((p.m == 1 || p.n == 1) && p.beta == 0) Scale(p);  // some versions read c before they scale it
  if (p.m == 1) {                                       // cᵀ = op(b)ᵀ aᵀ
    const int64_t rows = p.transpose_b ? p.n : p.k, columns = p.transpose_b ? p.k : p.n;
    return MatrixVector(!p.transpose_b, rows, columns, p.alpha, p.b, p.ldb, p.a,
                        p.transpose_a ? p.lda : 1, p.beta, p.c, 1);
  }
  if (p.n == 1) {
    const int64_t rows = p.transpose_a ? p.k : p.m, columns = p.transpose_a ? p.m : p.k;
    return MatrixVector(p.transpose_a, rows, columns, p.alpha, p.a, p.lda, p.b,
                        p.transpose_b ? 1 : p.ldb, p.beta, p.c, p.ldc);
  }
  Product(p);
}

template <typename T>
void SerialWithBuffer(const GemmProblem<T>& p) {
  std::counting_semaphore<>& buffers = FreeBuffers();
  buffers.acquire();
  Serial(p);
  buffers.release();
}

constexpr int64_t kSmallProduct = 32 * 32 * 32;  // below this, a second thread does not pay off
constexpr int64_t kTile = 48;                    // a multiple of the BLAS kernels' tiles

}  // namespace

void GemmSerial(const GemmProblem<float>& p) { SerialWithBuffer(p); }
void GemmSerial(const GemmProblem<double>& p) { SerialWithBuffer(p); }

absl::Status CheckExtents(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kMax = std::numeric_limits<blasint>::max();
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
