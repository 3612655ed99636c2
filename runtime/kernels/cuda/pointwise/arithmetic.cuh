// The arithmetic of chains and simple forms. A code is decoded once for all cells of a thread. A
// cell is an f32 number or a pair of 16-bit elements.
#pragma once

#include <cstring>

#include "runtime/kernels/cuda/common/packed.cuh"
#include "runtime/kernels/cuda/pointwise/pointwise.h"
#include "runtime/kernels/cuda/pointwise/present.cuh"
#include "runtime/kernels/cuda/pointwise/primitives.cuh"

namespace onnx_cudnn {

inline constexpr int kArithmeticThreads = 256;

inline LaunchShape ShapeOf(int64_t lanes, int lanes_per_thread) {
  const int64_t per_block = int64_t{kArithmeticThreads} * lanes_per_thread;
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>((lanes + per_block - 1) / per_block);
  shape.block.x = kArithmeticThreads;
  return shape;
}

// f32 numbers; tensors hold elements E.
template <typename E>
struct FloatCells {
  using Element = E;
  using Cell = float;
  static constexpr int kCellsPerWord = 4 / static_cast<int>(sizeof(E));

  static __device__ __forceinline__ void Read(uint32_t word, Cell* cells) {
    Vector<E, kCellsPerWord> elements;
    memcpy(&elements, &word, sizeof(word));
    float numbers[kCellsPerWord];
    WidenAll(elements, numbers);
#pragma unroll
    for (int i = 0; i < kCellsPerWord; ++i) cells[i] = numbers[i];
  }
  static __device__ __forceinline__ uint32_t Write(const Cell* cells) {
    float numbers[kCellsPerWord];
#pragma unroll
    for (int i = 0; i < kCellsPerWord; ++i) numbers[i] = cells[i];
    const Vector<E, kCellsPerWord> elements = NarrowAll<E>(numbers);
    uint32_t word;
    memcpy(&word, &elements, sizeof(word));
    return word;
  }
  static __device__ __forceinline__ Cell Of(float number) { return number; }

  template <typename F>
  static __device__ __forceinline__ Cell Each(Cell a, Cell b, F f) {
    return f(a, b);
  }
  template <Primitive primitive>
  static __device__ __forceinline__ Cell Apply(Cell a, Cell b) {
    return primitives::Function<primitive, float>()(a, b);
  }
};

// Two 16-bit elements in a register. Sums and products equal those in f32, rounded, since f32 has
// more than twice their digits plus two.
template <typename E>
struct PairCells {
  using Element = E;
  using Cell = uint32_t;
  using Pair = std::conditional_t<std::is_same_v<E, Half>, __half2, __nv_bfloat162>;
  static constexpr int kCellsPerWord = 1;

  static __device__ __forceinline__ void Read(uint32_t word, Cell* cells) { *cells = word; }
  static __device__ __forceinline__ uint32_t Write(const Cell* cells) { return *cells; }
  static __device__ __forceinline__ Cell Of(float number) {
    const float both[2] = {number, number};
    return FloatCells<E>::Write(both);
  }

  static __device__ __forceinline__ Pair Open(Cell cell) {
    Pair pair;
    memcpy(&pair, &cell, sizeof(pair));
    return pair;
  }
  static __device__ __forceinline__ Cell Close(Pair pair) {
    Cell cell;
    memcpy(&cell, &pair, sizeof(cell));
    return cell;
  }
  // Applies f to both elements in f32.
  template <typename F>
  static __device__ __forceinline__ Cell Each(Cell a, Cell b, F f) {
    float x[2], y[2];
    FloatCells<E>::Read(a, x);
    FloatCells<E>::Read(b, y);
    const float made[2] = {f(x[0], y[0]), f(x[1], y[1])};
    return FloatCells<E>::Write(made);
  }
  template <Primitive primitive>
  static __device__ __forceinline__ Cell Apply(Cell a, Cell b) {
    if constexpr (primitive == Primitive::kAdd) {
      return Close(__hadd2_rn(Open(a), Open(b)));
    } else if constexpr (primitive == Primitive::kSub) {
      return Close(__hsub2_rn(Open(a), Open(b)));
    } else if constexpr (primitive == Primitive::kMul) {
      return Close(__hmul2_rn(Open(a), Open(b)));
    } else if constexpr (primitive == Primitive::kMax) {
      return Close(__hmax2_nan(Open(a), Open(b)));
    } else if constexpr (primitive == Primitive::kMin) {
      return Close(__hmin2_nan(Open(a), Open(b)));
    } else if constexpr (primitive == Primitive::kNeg) {
      return a ^ 0x80008000u;
    } else if constexpr (primitive == Primitive::kAbs) {
      return a & 0x7fff7fffu;
    } else {
      return Each(a, b, primitives::Function<primitive, float>());
    }
  }
};

// Keeps the compiler from turning a uniform branch into a select per lane.
__device__ __forceinline__ void StayBranch() { asm volatile("" ::: "memory"); }

// a[i] = code(a[i], b(i)).
template <typename A, int n, typename B>
__device__ __forceinline__ void Combine(PointwiseCode code, typename A::Cell (&a)[n], B b) {
  using Cell = typename A::Cell;
  const auto map = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = f(a[i], b(i));
  };
  switch (code) {
    case PointwiseCode::kMove:
      StayBranch();
      return map([](Cell, Cell y) { return y; });
    case PointwiseCode::kSubReversed:
      return map([](Cell x, Cell y) { return A::template Apply<Primitive::kSub>(y, x); });
    case PointwiseCode::kDivReversed:
      return map([](Cell x, Cell y) { return A::template Apply<Primitive::kDiv>(y, x); });
#define PRIMITIVE(name, arity, ...)                                                           \
  case PointwiseCode::k##name:                                                                \
    if constexpr (arity == 2 && IsComputedEverywhere(Primitive::k##name)) {                   \
      return map([](Cell x, Cell y) { return A::template Apply<Primitive::k##name>(x, y); }); \
    }                                                                                         \
    return;
#include "runtime/ops/primitives.inc"
    default:
      return;
  }
}

// a[i] = code(a[i]).
template <typename A, int n>
__device__ __forceinline__ void Change(PointwiseCode code, float number, typename A::Cell (&a)[n]) {
  using Cell = typename A::Cell;
  const auto map = [&](auto f) {
#pragma unroll
    for (int i = 0; i < n; ++i) a[i] = f(a[i]);
  };
  switch (code) {
    case PointwiseCode::kLeaky:
      return map([=](Cell x) {
        return A::Each(x, x, [=](float v, float) { return v < 0.0F ? v * number : v; });
      });
#define PRIMITIVE(name, arity, ...)                                                   \
  case PointwiseCode::k##name:                                                        \
    if constexpr (arity == 1 && IsComputedEverywhere(Primitive::k##name)) {           \
      return map([](Cell x) { return A::template Apply<Primitive::k##name>(x, x); }); \
    }                                                                                 \
    return;
#include "runtime/ops/primitives.inc"
    default:
      return;  // kConvert
  }
}

}  // namespace onnx_cudnn
