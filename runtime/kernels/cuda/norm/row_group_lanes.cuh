// The elements of a thread of a row group: where they are, and how they are loaded and stored.
#pragma once

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/rows.cuh"
#include "runtime/kernels/cuda/norm/row_group.h"
#include "runtime/kernels/cuda/pointwise/arithmetic.cuh"

namespace onnx_cudnn {

// The elements of a thread: every `threads`-th vector of kRowGroupLanes, or, where rows are no
// whole vectors, every `threads`-th element, so that adjacent threads access adjacent memory at
// once. A thread without elements reads row 0 and stores none, so that all threads of a warp take
// the same branches.
struct RowGroupPlace {
  int64_t row;
  uint32_t index[kMostRowGroupAxes];  // of the row along the axes before it
  int column;                         // of the first element
  int stride;                         // columns from a vector or single element to the next
  int count;                          // elements that exist: the first ones
  bool is_whole;                      // they are aligned vectors
};

__device__ __forceinline__ RowGroupPlace PlaceOf(const RowGroupParameters& p,
                                                 const RowThread& thread) {
  RowGroupPlace place = {};
  place.is_whole = p.rows.whole;
  const int width = place.is_whole ? kRowGroupLanes : 1;
  const int turns = p.turns + (thread.lane < p.lanes_of_last_turn ? 1 : 0);
  place.count = thread.first < p.rows.rows ? turns * width : 0;
  place.row = place.count > 0 ? thread.first : 0;
  place.column = place.count > 0 ? thread.lane * width : 0;
  place.stride = p.rows.threads * width;
  uint32_t rest = static_cast<uint32_t>(place.row);
#pragma unroll
  for (int a = 0; a < kMostRowGroupAxes; ++a) {
    uint32_t index = rest, outer = 0;  // of the outermost axis, which needs no division
    if (a + 1 < p.axis_count) {
      StayBranch();
      outer = rest;
      index = p.axes[a].Split(outer);
    }
    place.index[a] = index;
    rest = outer;
  }
  return place;
}

// The bits of n elements: of vectors, each at the begin of its kRowGroupLanes words, or a word for
// each element.
template <int n>
struct Loaded {
  uint32_t words[n];
};

// Calls f(E{}) with the element type of an operand.
template <typename F>
__device__ __forceinline__ void VisitElement(DType dtype, F f) {
  if (dtype == DType::kF16) return f(Half{});
  if (dtype == DType::kF32) return f(float{});
  if (dtype == DType::kBF16) return f(BHalf{});
  f(Boolean{});
}

__device__ __forceinline__ bool IsVector(const RowGroupOperand& operand,
                                         const RowGroupPlace& place) {
  return operand.step == 1 && place.is_whole;
}

template <typename E, int n>
__device__ __forceinline__ void LoadVectors(const E* from, const RowGroupPlace& place,
                                            Loaded<n>& loaded) {
#pragma unroll
  for (int j = 0; j < n; j += kRowGroupLanes) {
    const int at = j < place.count ? j / kRowGroupLanes * place.stride : 0;
    const Vector<E, kRowGroupLanes> vector = LoadVector<kRowGroupLanes>(from + at);
    memcpy(&loaded.words[j], &vector, sizeof(vector));
  }
}

// All loads are issued before the first result is needed: their bits are converted later.
template <typename E, int n>
__device__ __forceinline__ void LoadSingle(const E* from, int step, const RowGroupPlace& place,
                                           Loaded<n>& loaded) {
  using Bits = WordOf<static_cast<int>(sizeof(E))>;
  const Bits* bits = reinterpret_cast<const Bits*>(from);
  if (step == 0) {
    const uint32_t same = *bits;
#pragma unroll
    for (int i = 0; i < n; ++i) loaded.words[i] = same;
    return;
  }
#pragma unroll
  for (int i = 0; i < n; ++i) {
    loaded.words[i] = 0;
    if (i < place.count) loaded.words[i] = bits[i * place.stride];
  }
}

// The first element of a row of a table; that of row 0, and a fault, if there is no such row.
__device__ __forceinline__ int64_t TableRow(const RowGroupParameters& p,
                                            const RowGroupOperand& operand,
                                            const RowGroupPlace& place) {
  const int64_t index = Integers{operand.indices, 0, operand.is_wide}[place.row];
  if (index >= -operand.table && index < operand.table) {
    return (index < 0 ? index + operand.table : index) * p.rows.extent;
  }
  *p.fault = FaultWord({FaultKind::kIndex, 0, index});
  return 0;
}

template <int n>
__device__ __forceinline__ Loaded<n> Load(const RowGroupParameters& p,
                                          const RowGroupOperand& operand,
                                          const RowGroupPlace& place) {
  int64_t at = static_cast<int64_t>(place.column) * operand.step;
  if (operand.table > 0) {
    at += TableRow(p, operand, place);
  } else {
#pragma unroll
    for (int a = 0; a < kMostRowGroupAxes; ++a) {
      if (a >= p.axis_count) break;
      at += place.index[a] * operand.strides[a];
    }
  }
  Loaded<n> loaded;
  VisitElement(operand.dtype, [&](auto element) {
    using E = decltype(element);
    const E* from = static_cast<const E*>(operand.data) + at;
    if (IsVector(operand, place)) return LoadVectors(from, place, loaded);
    LoadSingle(from, operand.step, place, loaded);
  });
  return loaded;
}

template <typename E, int n>
__device__ __forceinline__ void WidenVectors(const Loaded<n>& loaded, float (&numbers)[n]) {
#pragma unroll
  for (int j = 0; j < n; j += kRowGroupLanes) {
    Vector<E, kRowGroupLanes> vector;
    memcpy(&vector, &loaded.words[j], sizeof(vector));
    float part[kRowGroupLanes];
    WidenAll(vector, part);
#pragma unroll
    for (int i = 0; i < kRowGroupLanes; ++i) numbers[j + i] = part[i];
  }
}

template <typename E, int n>
__device__ __forceinline__ void WidenSingle(const Loaded<n>& loaded, float (&numbers)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) {
    const auto bits = static_cast<WordOf<static_cast<int>(sizeof(E))>>(loaded.words[i]);
    E element;
    memcpy(&element, &bits, sizeof(element));
    numbers[i] = Widen<float>(element);
  }
}

template <int n>
__device__ __forceinline__ void WidenOperand(const RowGroupOperand& operand,
                                             const RowGroupPlace& place, const Loaded<n>& loaded,
                                             float (&numbers)[n]) {
  VisitElement(operand.dtype, [&](auto element) {
    using E = decltype(element);
    if (IsVector(operand, place)) return WidenVectors<E>(loaded, numbers);
    WidenSingle<E>(loaded, numbers);
  });
}

template <typename E, int n>
__device__ __forceinline__ void StoreAs(const RowGroupParameters& p, const RowGroupOutput& output,
                                        const RowGroupPlace& place, const float (&numbers)[n]) {
  E* y = static_cast<E*>(output.data);
  if (output.of_row) {
    if (place.column == 0 && place.count > 0) y[place.row] = Narrow<E>(numbers[0]);
    return;
  }
  y += place.row * p.rows.extent + place.column;
  if (place.is_whole) {
#pragma unroll
    for (int j = 0; j < n; j += kRowGroupLanes) {
      float part[kRowGroupLanes];
#pragma unroll
      for (int i = 0; i < kRowGroupLanes; ++i) part[i] = numbers[j + i];
      if (j < place.count) StoreVector(y + j / kRowGroupLanes * place.stride, NarrowAll<E>(part));
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if (i < place.count) y[i * place.stride] = Narrow<E>(numbers[i]);
  }
}

template <int n>
__device__ __forceinline__ void Store(const RowGroupParameters& p, const RowGroupOutput& output,
                                      const RowGroupPlace& place, const float (&numbers)[n]) {
  if (output.dtype == DType::kF16) return StoreAs<Half>(p, output, place, numbers);
  if (output.dtype == DType::kBF16) return StoreAs<BHalf>(p, output, place, numbers);
  StoreAs<float>(p, output, place, numbers);
}

template <int n>
__device__ __forceinline__ void Round(DType dtype, float (&numbers)[n]) {
  StayBranch();
  if (dtype == DType::kF16) WidenAll(NarrowAll<Half>(numbers), numbers);
  if (dtype == DType::kBF16) WidenAll(NarrowAll<BHalf>(numbers), numbers);
}

__device__ __forceinline__ void Copy(float (&to)[kRowGroupLanes],
                                     const float (&from)[kRowGroupLanes]) {
  StayBranch();
#pragma unroll
  for (int i = 0; i < kRowGroupLanes; ++i) to[i] = from[i];
}

}  // namespace onnx_cudnn
