#include "runtime/kernels/cuda/reduce/elimination.h"

#include <algorithm>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/common/numbers.cuh"

namespace onnx_cudnn {
namespace {

constexpr int kWarp = 32;
constexpr int kMostWarps = 8;
constexpr int kRowsPerWarp = 4;            // of a matrix, before a warp more is worth its barriers
constexpr int64_t kMostShared = 48 << 10;  // what every device has without asking
constexpr int64_t kMostBlocks = 1 << 12;   // each takes several matrices beyond
constexpr int64_t kMostWorkspaceBlocks = 256;

struct EliminationParameters {
  const void* from;
  void* to;
  void* workspace;  // a matrix of every block; nullptr: it is in shared memory
  int64_t matrices;
  int n, width;  // columns of a matrix there: n, and n of the unit matrix if it is inverted
};

// The matrix of a block, row-major.
template <typename C>
struct BlockMatrix {
  C* elements;
  int n, width;

  __device__ __forceinline__ BlockMatrix(const EliminationParameters& p, void* shared)
      : elements(static_cast<C*>(shared)), n(p.n), width(p.width) {
    if (p.workspace == nullptr) return;
    elements = static_cast<C*>(p.workspace) + static_cast<int64_t>(blockIdx.x) * n * width;
  }
  __device__ __forceinline__ C* operator[](int row) const {
    return elements + static_cast<int64_t>(row) * width;
  }
};

// f(row) of each row of [from, to), by one warp.
template <typename F>
__device__ __forceinline__ void ForRows(int from, int to, F f) {
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  for (int row = from + static_cast<int>(threadIdx.x) / kWarp; row < to; row += warps) f(row);
}
// f(column) of each column of [from, to), by one lane.
template <typename F>
__device__ __forceinline__ void ForColumns(int from, int to, F f) {
  for (int column = from + static_cast<int>(threadIdx.x) % kWarp; column < to; column += kWarp) {
    f(column);
  }
}

template <typename E, typename C>
__device__ __forceinline__ void Load(const EliminationParameters& p, int64_t matrix,
                                     const BlockMatrix<C>& a) {
  const E* from = static_cast<const E*>(p.from) + matrix * a.n * a.n;
  ForRows(0, a.n, [&](int row) {
    const E* elements = from + static_cast<int64_t>(row) * a.n;
    ForColumns(0, a.n, [&](int i) { a[row][i] = Widen<C>(elements[i]); });
    ForColumns(a.n, a.width, [&](int i) { a[row][i] = static_cast<C>(i - a.n == row ? 1 : 0); });
  });
  __syncthreads();
}

// The first of the rows from k on whose element in column k is largest; every warp finds it. As in
// the reference a NaN is never larger, and nothing is larger than one in row k.
template <typename C>
__device__ __forceinline__ int PivotOf(const BlockMatrix<C>& a, int k) {
  C largest = -1;
  int pivot = k;
  for (int row = k + static_cast<int>(threadIdx.x) % kWarp; row < a.n; row += kWarp) {
    const C size = fabs(a[row][k]);
    if (size > largest) {
      largest = size;
      pivot = row;
    }
  }
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const C size = __shfl_xor_sync(0xffffffffu, largest, mask);
    const int row = __shfl_xor_sync(0xffffffffu, pivot, mask);
    if (size > largest || (size == largest && row < pivot)) {
      largest = size;
      pivot = row;
    }
  }
  const C own = a[k][k];
  return own != own ? k : pivot;
}

// Exchanges row k with the pivot's from column k on. Returns whether they differ.
template <typename C>
__device__ __forceinline__ bool BringPivot(const BlockMatrix<C>& a, int k) {
  const int pivot = PivotOf(a, k);
  __syncthreads();  // all warps have searched
  if (pivot == k) return false;
  for (int column = k + static_cast<int>(threadIdx.x); column < a.width;
       column += static_cast<int>(blockDim.x)) {
    const C other = a[pivot][column];
    a[pivot][column] = a[k][column];
    a[k][column] = other;
  }
  __syncthreads();
  return true;
}

// Subtracts `factor` times row k from row `row`, from column `first` on.
template <typename C>
__device__ __forceinline__ void SubtractRow(const BlockMatrix<C>& a, int row, C factor, int k,
                                            int first) {
  ForColumns(first, a.width, [&](int i) { a[row][i] -= factor * a[k][i]; });
}

// Subtracts multiples of row k from those below, whose column k would be 0 then: it stays.
template <typename C>
__device__ __forceinline__ void EliminateBelow(const BlockMatrix<C>& a, int k) {
  const C pivot = a[k][k];
  ForRows(k + 1, a.n, [&](int row) {
    const C below = a[row][k];
    SubtractRow(a, row, pivot == 0 ? below : below / pivot, k, k + 1);
  });
  __syncthreads();
}

template <typename E>
__global__ void __launch_bounds__(kMostWarps* kWarp)
    Determinants(const __grid_constant__ EliminationParameters p) {
  WaitForLaunchBefore();
  extern __shared__ __align__(16) unsigned char shared[];
  const BlockMatrix<double> a(p, shared);
  for (int64_t matrix = blockIdx.x; matrix < p.matrices; matrix += gridDim.x) {
    Load<E>(p, matrix, a);
    double determinant = 1;
    for (int k = 0; k < p.n; ++k) {
      if (BringPivot(a, k)) determinant = -determinant;
      const double pivot = a[k][k];
      if (pivot == 0) {
        determinant = 0;
        break;
      }
      determinant *= pivot;
      EliminateBelow(a, k);
    }
    if (threadIdx.x == 0) static_cast<E*>(p.to)[matrix] = Narrow<E>(determinant);
    __syncthreads();  // all threads have left the matrix
  }
}

template <typename E>
__global__ void __launch_bounds__(kMostWarps* kWarp)
    Inverses(const __grid_constant__ EliminationParameters p) {
  WaitForLaunchBefore();
  using C = ComputeOf<E>;
  extern __shared__ __align__(16) unsigned char shared[];
  const BlockMatrix<C> a(p, shared);
  const int n = p.n;
  for (int64_t matrix = blockIdx.x; matrix < p.matrices; matrix += gridDim.x) {
    Load<E>(p, matrix, a);
    for (int k = 0; k < n; ++k) {
      BringPivot(a, k);
      EliminateBelow(a, k);
    }
    for (int k = n - 1; k >= 0; --k) {
      const C pivot = a[k][k];
      ForRows(k, k + 1,
              [&](int row) { ForColumns(n, p.width, [&](int i) { a[row][i] /= pivot; }); });
      __syncthreads();
      ForRows(0, k, [&](int row) { SubtractRow(a, row, a[row][k], k, n); });
      __syncthreads();
    }
    E* to = static_cast<E*>(p.to) + matrix * n * n;
    ForRows(0, n, [&](int row) {
      E* elements = to + static_cast<int64_t>(row) * n;
      ForColumns(0, n, [&](int i) { elements[i] = Narrow<E>(a[row][n + i]); });
    });
    __syncthreads();
  }
}

}  // namespace

EliminationCode CodeOf(const EliminationPlan& plan) {
  const bool is_wide = !plan.inverts || plan.dtype == DType::kF64;
  EliminationParameters p = {
      .matrices = plan.matrices, .n = plan.n, .width = plan.inverts ? 2 * plan.n : plan.n};
  const int64_t bytes =
      int64_t{p.n} * p.width * static_cast<int64_t>(is_wide ? sizeof(double) : sizeof(float));
  const bool is_shared = bytes <= kMostShared;
  const int64_t blocks = std::min(plan.matrices, is_shared ? kMostBlocks : kMostWorkspaceBlocks);
  const int warps = std::clamp(plan.n / kRowsPerWarp, 1, kMostWarps);
  const LaunchShape shape = {.grid = {.x = static_cast<unsigned>(blocks)},
                             .block = {.x = static_cast<unsigned>(warps * kWarp)},
                             .shared_bytes = is_shared ? static_cast<int>(bytes) : 0};
  EliminationCode code;
  if (plan.inverts) {
    code.call = DTypeVisitor<KernelCall, float, Half, double>::Visit(
        plan.dtype, [&](auto e) { return KernelCall::Of(Inverses<decltype(e)>, shape, p); });
  } else {
    code.call = VisitFloat<KernelCall>(
        plan.dtype, [&](auto e) { return KernelCall::Of(Determinants<decltype(e)>, shape, p); });
  }
  code.call.Bind(offsetof(EliminationParameters, from), plan.from);
  code.call.Bind(offsetof(EliminationParameters, to), plan.to);
  if (!is_shared) {
    code.workspace_bytes = blocks * bytes;
    code.call.Bind(offsetof(EliminationParameters, workspace), Slot::Workspace());
  }
  return code;
}

}  // namespace onnx_cudnn
