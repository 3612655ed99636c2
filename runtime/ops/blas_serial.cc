// The calls of OpenBLAS, in a file of their own: programs that link the shared library take them
// from there, so that OpenBLAS (28 MB) is in the library alone.
#include <cblas.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <semaphore>
#include <thread>
#include <vector>

#include "runtime/ops/blas.h"

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

static_assert(sizeof(blasint) >= sizeof(int));  // CheckExtents

}  // namespace

void GemmSerial(const GemmProblem<float>& p) { SerialWithBuffer(p); }
void GemmSerial(const GemmProblem<double>& p) { SerialWithBuffer(p); }

}  // namespace onnx_cudnn
