// Pooling with the most common square windows. A thread computes a few rows and columns of outputs:
// all its reads are in flight together; it joins the columns of each row once, and then the rows.
// Inputs that adjacent threads share come from L1.
#include <cstring>

#include "runtime/kernels/cuda/common/dependent_launch.cuh"
#include "runtime/kernels/cuda/pool/pool_lanes.cuh"

namespace onnx_cudnn {
namespace {

// The value of a row outside the input. The compiler must not know it as a word: otherwise it would
// split a load that may be skipped into halves before it issues the next one.
template <typename T>
struct Outside {
  T value;
  uint32_t word;

  explicit __device__ __forceinline__ Outside(T t) : value(t) {
    if constexpr (sizeof(T) == 4) memcpy(&word, &t, sizeof(word));
    if constexpr (sizeof(T) == 2) word = 0x10001 * reinterpret_cast<const uint16_t&>(t);
    asm volatile("" : "+r"(word));
  }
};

// Sets `vector` to the data at `from` if that is `inside`.
template <typename T, int kLanes>
__device__ __forceinline__ void LoadOr(Vector<T, kLanes>& vector, const T* from, bool inside,
                                       const Outside<T>& outside) {
  if constexpr (sizeof(vector) % 4 == 0) {
#pragma unroll
    for (int i = 0; i < Vector<T, kLanes>::kBytes / 4; ++i) {
      reinterpret_cast<uint32_t*>(vector.at)[i] = outside.word;
    }
  } else {
    vector[0] = outside.value;
  }
  if (inside) StoreVector(vector.at, LoadVector<kLanes>(from));
}

// The inputs in one row for the windows of adjacent outputs: one vector of channels per column.
template <typename T, int kChannels, int kKernel, int kStride>
struct ChannelRow {
  using Element = T;
  static constexpr bool kReadsPixels = false;
  static constexpr int kColumns = PoolStripColumns(kStride);     // of the outputs
  static constexpr int kVectors = kColumns, kLanes = kChannels;  // of the results
  static constexpr int kHeld = (kColumns - 1) * kStride + kKernel;

  Vector<T, kLanes> at[kHeld];

  // `x` is the address of column `first`, which may be outside; the whole row is outside if not
  // `inside`.
  __device__ __forceinline__ void Load(const PoolParameters& p, const T* x, int first, bool inside,
                                       const Outside<T>& outside) {
#pragma unroll
    for (int c = 0; c < kHeld; ++c) {
      LoadOr(at[c], x + c * p.x_w, inside && Inside(p.w, first + c), outside);
    }
  }
  // The contribution of window position k to a vector of results.
  __device__ __forceinline__ const Vector<T, kLanes>& Tap(int vector, int k) const {
    return at[vector * kStride + k];
  }
  static __device__ __forceinline__ int ColumnOf(int vector, int) { return vector; }
};

// The same for planes: an aligned access of adjacent columns, and single ones beside it. The
// windows begin kBefore columns earlier; the row's width is a multiple of the access.
template <typename T, int kBefore, int kKernel, int kStride>
struct PixelRow {
  using Element = T;
  static constexpr bool kReadsPixels = true;
  static constexpr int kRead = kVectorBytes / sizeof(T);
  static constexpr int kColumns = kRead / kStride, kVectors = 1, kLanes = kColumns;
  static constexpr int kWanted = (kColumns - 1) * kStride + kKernel, kEnd = kBefore + kRead;
  static constexpr int kHeld = kWanted < kEnd ? kEnd : kWanted;

  T at[kHeld];

  __device__ __forceinline__ void Load(const PoolParameters& p, const T* x, int first, bool inside,
                                       const Outside<T>& outside) {
    Vector<T, kRead> read;
    LoadOr(read, x + kBefore, inside && Inside(p.w, first + kBefore), outside);
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      if (i >= kBefore && i < kEnd) {
        at[i] = read[i - kBefore];
      } else {
        at[i] = inside && Inside(p.w, first + i) ? x[i] : outside.value;
      }
    }
  }
  __device__ __forceinline__ Vector<T, kLanes> Tap(int, int k) const {
    Vector<T, kLanes> tap;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) tap[i] = at[i * kStride + k];
    return tap;
  }
  static __device__ __forceinline__ int ColumnOf(int, int lane) { return lane; }
};

template <typename E, typename T, int kLanes>
__device__ __forceinline__ Vector<E, kLanes> WidenAll(const Vector<T, kLanes>& x) {
  if constexpr (std::is_same_v<E, T>) {
    return x;
  } else {
    Vector<E, kLanes> wide;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) wide[i] = Widen<E>(x[i]);
    return wide;
  }
}

template <PoolKind kKind, typename E, int kLanes>
__device__ __forceinline__ void Join(Vector<E, kLanes>& all, const Vector<E, kLanes>& x) {
  if constexpr (kKind == PoolKind::kMax) {
    KeepLarger(all, x);
  } else {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) all[i] += x[i];
  }
}

// 1 / (counted window positions of `output` along the axis); 0 if there are none.
template <int kKernel, int kStride>
__device__ __forceinline__ float ShareOf(const PoolAxis& axis, int output) {
  const int at = output * kStride - axis.pad;
  const int count = min(at + kKernel, axis.count_end) - max(at, axis.count_begin);
  float share = 0;
#pragma unroll
  for (int k = 1; k <= kKernel; ++k) share = count == k ? 1.0F / static_cast<float>(k) : share;
  return share;
}

// The window states of an output row's columns, for each row that was read.
template <PoolKind kKind, int kKernel, typename Row, typename E, int kLanes, int kVectors,
          int kReadRows>
__device__ __forceinline__ void JoinTaps(const Row (&read)[kReadRows],
                                         Vector<E, kLanes> (&rows)[kReadRows][kVectors]) {
#pragma unroll
  for (int r = 0; r < kReadRows; ++r) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      rows[r][v] = WidenAll<E>(read[r].Tap(v, 0));
#pragma unroll
      for (int k = 1; k < kKernel; ++k) Join<kKind>(rows[r][v], WidenAll<E>(read[r].Tap(v, k)));
    }
  }
}

template <PoolKind kKind, typename Row, int kKernel, int kStride>
__global__ void __launch_bounds__(kPoolStripThreads)
    PoolRows(const __grid_constant__ PoolParameters p) {
  WaitForLaunchBefore();
  constexpr bool kIsMax = kKind == PoolKind::kMax;
  constexpr int kRows = PoolStripRows(Row::kReadsPixels, kStride),
                kReadRows = (kRows - 1) * kStride + kKernel;
  constexpr int kVectors = Row::kVectors, kLanes = Row::kLanes;
  using T = typename Row::Element;
  using E = std::conditional_t<kIsMax, T, float>;
  using Lanes = Vector<E, kLanes>;
  const uint32_t item = blockIdx.x * kPoolStripThreads + threadIdx.x;
  if (item >= p.items) return;
  const PoolPlace place = PlaceOf(p, item);
  const int row = place.row * kRows, column = place.column * Row::kColumns;
  const int in_row = row * kStride - p.h.pad, in_column = column * kStride - p.w.pad;
  const T* x = static_cast<const T*>(p.x) + place.outer * p.x_outer + place.vector * kLanes +
               in_row * p.x_h + in_column * p.x_w;
  const Outside<T> outside(kIsMax ? Lowest<T>() : Narrow<T>(0.0F));
  Row read[kReadRows];
#pragma unroll
  for (int r = 0; r < kReadRows; ++r) {
    read[r].Load(p, x + r * p.x_h, in_column, Inside(p.h, in_row + r), outside);
  }
  Lanes rows[kReadRows][kVectors];
  JoinTaps<kKind, kKernel>(read, rows);
  float shares[Row::kColumns];
#pragma unroll
  for (int c = 0; c < Row::kColumns; ++c) shares[c] = ShareOf<kKernel, kStride>(p.w, column + c);
  T* y = static_cast<T*>(p.y) + place.outer * p.y_outer + place.vector * kLanes + row * p.y_h +
         column * p.y_w;
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    if (row + j >= p.h.out) break;
    const float share = ShareOf<kKernel, kStride>(p.h, row + j);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      Lanes all = rows[j * kStride][v];
#pragma unroll
      for (int r = 1; r < kKernel; ++r) Join<kKind>(all, rows[j * kStride + r][v]);
      Vector<T, kLanes> out;
      if constexpr (kIsMax) {
        out = Filled<kLanes>(outside.value);  // if all inputs are NaN
        KeepLarger(out, all);
      } else {
#pragma unroll
        for (int i = 0; i < kLanes; ++i) {
          out[i] = Narrow<T>(all[i] * shares[Row::ColumnOf(v, i)] * share);
        }
      }
      if constexpr (!Row::kReadsPixels) ClearPadding(out, p.channels - place.vector * kLanes);
      if (column + v < p.w.out) StoreVector(y + j * p.y_h + v * p.y_w, out);
    }
  }
}

template <PoolKind kKind, typename T, int kKernel, int kStride>
KernelCall StripOf(const PoolStrip& strip, const LaunchShape& shape, const PoolParameters& p) {
  constexpr int kFull = kVectorBytes / sizeof(T);
  const auto call = [&](auto row) {
    return KernelCall::Of(PoolRows<kKind, decltype(row), kKernel, kStride>, shape, p);
  };
  if (strip.lanes == kFull) return call(ChannelRow<T, kFull, kKernel, kStride>{});
  if (!strip.pixels) return call(ChannelRow<T, 1, kKernel, kStride>{});
  if constexpr (kKernel == 3) {
    if (p.w.pad == 1) return call(PixelRow<T, 1, kKernel, kStride>{});
  }
  return call(PixelRow<T, 0, kKernel, kStride>{});
}

template <PoolKind kKind, typename T>
KernelCall SquareOf(const PoolStrip& strip, const LaunchShape& shape, const PoolParameters& p) {
  const bool two = p.h.stride == 2;
  if (p.h.kernel == 3) {
    return two ? StripOf<kKind, T, 3, 2>(strip, shape, p)
               : StripOf<kKind, T, 3, 1>(strip, shape, p);
  }
  return two ? StripOf<kKind, T, 2, 2>(strip, shape, p) : StripOf<kKind, T, 2, 1>(strip, shape, p);
}

}  // namespace

KernelCall PoolStripCall(PoolKind kind, DType dtype, const PoolStrip& strip,
                         const LaunchShape& shape, const PoolParameters& p) {
  return DTypeVisitor<KernelCall, float, Half, BHalf>::Visit(dtype, [&](auto e) {
    using T = decltype(e);
    return kind == PoolKind::kMax ? SquareOf<PoolKind::kMax, T>(strip, shape, p)
                                  : SquareOf<PoolKind::kAverage, T>(strip, shape, p);
  });
}

}  // namespace onnx_cudnn
