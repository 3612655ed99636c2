// ArgMax and ArgMin along an axis: indices[o,i] of the best x[o,e,i] over e; among equal ones the
// first or the last. A NaN is the best at e = 0 and never elsewhere, as in sequential comparison
// with >. Elements are compared as integers with the same order.
#include "runtime/kernels/cuda/reduce/arg_reduce.h"

#include "runtime/kernels/cuda/common/columns.cuh"
#include "runtime/kernels/cuda/common/dependent_launch.cuh"

namespace onnx_cudnn {
namespace {

struct ArgReduceParameters {
  const void* x;
  int64_t* indices;
  RowShape rows;
  ColumnShape columns;
  ArgReduceOptions options;
};

template <typename T>
using KeyOf = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

template <typename Key>
struct Found {
  Key key;
  int index;
};

template <typename Key>
__device__ __forceinline__ constexpr Key LowestKey() {
  return std::numeric_limits<Key>::min();
}

// Larger for a better element. Both zeros are equal; -inf to +inf are strictly inside the range of
// Key.
template <typename T>
__device__ __forceinline__ KeyOf<T> KeyFor(T element, int index, bool largest) {
  using Key = KeyOf<T>;
  if constexpr (kIsFloat<T>) {
    using C = ComputeOf<T>;
    const C x = Widen<C>(element) + C{0};
    if (x != x) return index == 0 ? std::numeric_limits<Key>::max() : LowestKey<Key>();
    Key key;
    memcpy(&key, &x, sizeof(key));
    if (key < 0) key ^= std::numeric_limits<Key>::max();
    return largest ? key : ~key;
  } else if constexpr (std::is_unsigned_v<T> && sizeof(T) >= 4) {
    const Key key = static_cast<Key>(element ^ (T{1} << (8 * sizeof(T) - 1)));
    return largest ? key : ~key;
  } else {
    const Key key = static_cast<Key>(element);
    return largest ? key : ~key;
  }
}

template <typename Key>
struct Better {
  bool last;
  __device__ __forceinline__ Found<Key> operator()(Found<Key> a, Found<Key> b) const {
    const bool first_is_lower = a.index < b.index;
    const bool takes_a = a.key > b.key || (a.key == b.key && first_is_lower != last);
    return takes_a ? a : b;
  }
};

// Processes a chunk of one thread's vectors. Indices increase, so only a better key (or an equal
// one, if the last is requested) replaces the current one.
template <typename T, int kCount>
__device__ __forceinline__ void Search(const RowSlice<T, kCount>& slice,
                                       const ArgReduceOptions& options, Found<KeyOf<T>>& best) {
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
#pragma unroll
    for (int k = 0; k < RowSlice<T, kCount>::kWidth; ++k) {
      const int index = slice.Begin(j) + k;
      const KeyOf<T> key = KeyFor(slice.lanes[j][k], index, options.largest);
      const bool takes = key > best.key || (key == best.key && (options.last || best.index < 0));
      if (slice.Holds(j, k) && takes) best = {key, index};
    }
  }
}

// A negative index means that nothing was found: the worst key, never preferred among equals.
template <typename Key>
struct BetterOrAny {
  Better<Key> better;
  __device__ __forceinline__ Found<Key> operator()(Found<Key> a, Found<Key> b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    return better(a, b);
  }
};

template <typename T, int kRows, int kCount>
__global__ void __launch_bounds__(kMostRowThreads) ArgReduceRows(ArgReduceParameters p) {
  WaitForLaunchBefore();
  using Key = KeyOf<T>;
  using Slice = RowSlice<T, kCount>;
  __shared__ Found<Key> scratch[kMostWarps];
  const RowThread thread(p.rows, kRows);
  const BetterOrAny<Key> better{{p.options.last}};
  const int step = p.rows.threads * Slice::kWidth * kCount;
  Found<Key> best[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) best[r] = {LowestKey<Key>(), -1};
  for (int from = 0; from < p.rows.reach; from += step) {
    Slice slices[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      slices[r].Load(p.rows, static_cast<const T*>(p.x), thread.first + r * thread.step,
                     thread.lane, from, Narrow<T>(0));
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) Search(slices[r], p.options, best[r]);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Found<Key> found = JoinRow(best[r], p.rows.threads, scratch, better);
    const int64_t row = thread.first + r * thread.step;
    if (thread.lane == 0 && row < p.rows.rows) p.indices[row] = found.index;
  }
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kMostColumnThreads) ArgReduceColumns(ArgReduceParameters p) {
  WaitForLaunchBefore();
  using Key = KeyOf<T>;
  extern __shared__ __align__(16) unsigned char scratch_bytes[];
  ColumnSlice<T, kWidth> slice(p.columns);
  const int step = kColumnVectors * static_cast<int>(blockDim.y);
  Found<Key> best[kWidth];
#pragma unroll
  for (int k = 0; k < kWidth; ++k) best[k] = {LowestKey<Key>(), -1};
  for (int from = 0; from < p.columns.extent; from += step) {
    slice.Load(static_cast<const T*>(p.x), from, Narrow<T>(0));
#pragma unroll
    for (int j = 0; j < kColumnVectors; ++j) {
      if (!slice.Holds(j)) continue;
      const int index = slice.Index(j);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        const Key key = KeyFor(slice.lanes[j][k], index, p.options.largest);
        const bool takes =
            key > best[k].key || (key == best[k].key && (p.options.last || best[k].index < 0));
        if (takes) best[k] = {key, index};
      }
    }
  }
  JoinColumns<kWidth>(best, reinterpret_cast<Found<Key>*>(scratch_bytes),
                      BetterOrAny<Key>{{p.options.last}});
  const int64_t column = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (threadIdx.y != 0 || column >= p.columns.columns) return;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) p.indices[column * kWidth + k] = best[k].index;
}

template <typename T>
auto RowsOf(const RowPlan& plan) {
  return plan.rows_at_once > 1 ? ArgReduceRows<T, 4, 1> : ArgReduceRows<T, 1, 4>;
}

template <typename T>
KernelCall CallOf(const AxisLanes& lanes, const ArgReduceParameters& p) {
  constexpr int kWide = sizeof(T) == 1 ? 4 : kVectorBytes / sizeof(T);  // limited by registers
  return LanesCall<T>(lanes, RowsOf<T>, ArgReduceColumns<T, kWide>, ArgReduceColumns<T, 1>, kWide,
                      sizeof(Found<KeyOf<T>>), p);
}

}  // namespace

KernelCall ArgReduceCall(DType dtype, const AxisLanes& lanes, const ArgReduceOptions& options,
                         Slot x, Slot indices) {
  const ArgReduceParameters p{.options = options};
  return VisitNumber<KernelCall>(dtype, [&](auto e) { return CallOf<decltype(e)>(lanes, p); })
      .Bind(offsetof(ArgReduceParameters, x), x)
      .Bind(offsetof(ArgReduceParameters, indices), indices);
}

}  // namespace onnx_cudnn
