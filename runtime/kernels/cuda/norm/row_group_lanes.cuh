// The elements of a thread of a row group: where they are, and how they are loaded and stored.
#pragma once

#include "runtime/kernels/cuda/common/faults.h"
#include "runtime/kernels/cuda/common/rounded.cuh"
#include "runtime/kernels/cuda/common/rows.cuh"
#include "runtime/kernels/cuda/norm/row_group.h"
#include "runtime/kernels/cuda/pointwise/arithmetic.cuh"

namespace onnx_cudnn {

// The elements of a thread: adjacent ones, or, where rows are no whole vectors, every `threads`-th,
// so that adjacent threads access adjacent elements at once. A thread without elements loads those
// of another one and stores none, so that all threads of a warp take the same branches.
struct RowGroupPlace {
  int64_t row;
  uint32_t index[kMostRowGroupAxes];  // of the row along the axes before it
  int column;                         // of the first element
  int stride;                         // columns from an element to the next
  int count;                          // elements that exist, up to kRowGroupLanes
  bool is_whole;                      // kRowGroupLanes of them, if any, are one aligned vector
};

__device__ __forceinline__ RowGroupPlace PlaceOf(const RowGroupParameters& p,
                                                 const RowThread& thread) {
  RowGroupPlace place;
  place.is_whole = p.rows.whole;
  place.stride = place.is_whole ? 1 : p.rows.threads;
  const int column = place.is_whole ? thread.lane * kRowGroupLanes : thread.lane;
  const int left = thread.first < p.rows.rows ? p.rows.extent - column : 0;
  // Whole rows have all or none of a thread's elements.
  place.count = place.is_whole ? (left > 0 ? kRowGroupLanes : 0)
                               : max(0, (left + place.stride - 1) / place.stride);
  place.row = place.count > 0 ? thread.first : 0;
  place.column = place.count > 0 ? column : 0;
  uint32_t rest = static_cast<uint32_t>(place.row);
#pragma unroll
  for (int a = 0; a < kMostRowGroupAxes; ++a) {
    place.index[a] = p.axes[a].Split(rest);
  }
  return place;
}

// Elements as they are in memory, or, if read one by one, as f32.
struct Loaded {
  uint32_t words[kRowGroupLanes];
};

template <typename E>
__device__ __forceinline__ void LoadWhole(const void* from, int64_t at, Loaded& loaded) {
  const Vector<E, kRowGroupLanes> vector =
      LoadVector<kRowGroupLanes>(static_cast<const E*>(from) + at);
  memcpy(loaded.words, &vector, sizeof(vector));
}

__device__ __forceinline__ bool IsVector(const RowGroupOperand& operand,
                                         const RowGroupPlace& place) {
  return operand.step == 1 && place.is_whole && operand.dtype != DType::kBool;
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

__device__ __forceinline__ Loaded Load(const RowGroupParameters& p, const RowGroupOperand& operand,
                                       const RowGroupPlace& place) {
  Loaded loaded;
  int64_t at = static_cast<int64_t>(place.column) * operand.step;
  if (operand.table > 0) {
    at += TableRow(p, operand, place);
  } else {
#pragma unroll
    for (int a = 0; a < kMostRowGroupAxes; ++a) at += place.index[a] * operand.strides[a];
  }
  if (IsVector(operand, place)) {
    if (operand.dtype == DType::kF16) {
      LoadWhole<Half>(operand.data, at, loaded);
    } else if (operand.dtype == DType::kBF16) {
      LoadWhole<BHalf>(operand.data, at, loaded);
    } else {
      LoadWhole<float>(operand.data, at, loaded);
    }
    return loaded;
  }
  const int last = max(0, place.count - 1), step = place.stride * operand.step;
#pragma unroll
  for (int i = 0; i < kRowGroupLanes; ++i) {
    const float number = LoadNumber<float>(operand.dtype, operand.data, at + min(i, last) * step);
    memcpy(&loaded.words[i], &number, sizeof(number));
  }
  return loaded;
}

template <typename E>
__device__ __forceinline__ void WidenLoaded(const Loaded& loaded,
                                            float (&numbers)[kRowGroupLanes]) {
  Vector<E, kRowGroupLanes> vector;
  memcpy(&vector, loaded.words, sizeof(vector));
  WidenAll(vector, numbers);
}

__device__ __forceinline__ void WidenOperand(const RowGroupOperand& operand,
                                             const RowGroupPlace& place, const Loaded& loaded,
                                             float (&numbers)[kRowGroupLanes]) {
  const bool is_f32 = !IsVector(operand, place) || operand.dtype == DType::kF32;
  if (is_f32) return WidenLoaded<float>(loaded, numbers);
  if (operand.dtype == DType::kF16) return WidenLoaded<Half>(loaded, numbers);
  WidenLoaded<BHalf>(loaded, numbers);
}

template <typename E>
__device__ __forceinline__ void StoreAs(const RowGroupParameters& p, const RowGroupOutput& output,
                                        const RowGroupPlace& place,
                                        const float (&numbers)[kRowGroupLanes]) {
  E* y = static_cast<E*>(output.data);
  if (output.of_row) {
    if (place.column == 0 && place.count > 0) y[place.row] = Narrow<E>(numbers[0]);
    return;
  }
  y += place.row * p.rows.extent + place.column;
  if (place.is_whole && place.count > 0) return StoreVector(y, NarrowAll<E>(numbers));
#pragma unroll
  for (int i = 0; i < kRowGroupLanes; ++i) {
    if (i < place.count) y[i * place.stride] = Narrow<E>(numbers[i]);
  }
}

__device__ __forceinline__ void Store(const RowGroupParameters& p, const RowGroupOutput& output,
                                      const RowGroupPlace& place,
                                      const float (&numbers)[kRowGroupLanes]) {
  if (output.dtype == DType::kF16) return StoreAs<Half>(p, output, place, numbers);
  if (output.dtype == DType::kBF16) return StoreAs<BHalf>(p, output, place, numbers);
  StoreAs<float>(p, output, place, numbers);
}

__device__ __forceinline__ void Round(DType dtype, float (&numbers)[kRowGroupLanes]) {
  StayBranch();
#pragma unroll
  for (int i = 0; i < kRowGroupLanes; ++i) {
    if (dtype == DType::kF16) numbers[i] = Rounded<Half>(numbers[i]);
    if (dtype == DType::kBF16) numbers[i] = Rounded<BHalf>(numbers[i]);
  }
}

__device__ __forceinline__ void Copy(float (&to)[kRowGroupLanes],
                                     const float (&from)[kRowGroupLanes]) {
  StayBranch();
#pragma unroll
  for (int i = 0; i < kRowGroupLanes; ++i) to[i] = from[i];
}

}  // namespace onnx_cudnn
