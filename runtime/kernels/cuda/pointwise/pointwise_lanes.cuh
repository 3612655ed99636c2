// Loads, stores and conversions of the element-wise interpreter.
#pragma once

#include <cstddef>
#include <cstring>

#include "runtime/kernels/cuda/common/packed.cuh"
#include "runtime/kernels/cuda/pointwise/pointwise.h"
#include "runtime/kernels/cuda/pointwise/present.cuh"

namespace onnx_cudnn::lanes {

// The PointwiseType between Nodes for elements E; it represents each exactly.
template <typename E>
using HeldAs = std::conditional_t<
    std::is_same_v<E, float> || kIs16BitFloat<E>, float,
    std::conditional_t<std::is_same_v<E, double> || std::is_same_v<E, uint64_t>, E, int64_t>>;

// A lane of the wide interpreters: bits of any PointwiseType.
struct Wide {
  uint64_t bits;
};

template <typename T>
__device__ __forceinline__ T FromCell(float cell) {
  return static_cast<T>(cell);
}
template <typename T>
__device__ __forceinline__ T FromCell(Wide cell) {
  if constexpr (std::is_same_v<T, float>) return __uint_as_float(static_cast<uint32_t>(cell.bits));
  if constexpr (std::is_same_v<T, double>) {
    return __longlong_as_double(static_cast<long long>(cell.bits));
  }
  if constexpr (std::is_integral_v<T>) return static_cast<T>(cell.bits);
}

template <typename Cell, typename T>
__device__ __forceinline__ Cell ToCell(T number) {
  if constexpr (std::is_same_v<Cell, float>) {
    return static_cast<float>(number);
  } else if constexpr (std::is_same_v<T, float>) {
    return {__float_as_uint(number)};
  } else if constexpr (std::is_same_v<T, double>) {
    return {static_cast<uint64_t>(__double_as_longlong(number))};
  } else {
    return {static_cast<uint64_t>(number)};
  }
}

// Conversions between elements and cells.
template <typename Cell, typename E>
__device__ __forceinline__ Cell CellOf(E element) {
  if constexpr (std::is_same_v<Cell, float>) {
    return Widen<float>(element);
  } else {
    return ToCell<Cell>(Widen<HeldAs<E>>(element));
  }
}
template <typename E, typename Cell>
__device__ __forceinline__ E ElementOf(Cell cell) {
  if constexpr (std::is_same_v<Cell, float>) {
    return Narrow<E>(cell);
  } else {
    return Narrow<E>(FromCell<HeldAs<E>>(cell));
  }
}

// The same for vectors; 16-bit floats are converted in pairs.
template <typename Cell, typename E, int n>
__device__ __forceinline__ void CellsOf(const Vector<E, n>& elements, Cell (&cells)[n]) {
  if constexpr (std::is_same_v<Cell, float>) {
    WidenAll(elements, cells);
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i) cells[i] = CellOf<Cell>(elements[i]);
  }
}
template <typename E, typename Cell, int n>
__device__ __forceinline__ Vector<E, n> ElementsOf(const Cell (&cells)[n]) {
  if constexpr (std::is_same_v<Cell, float>) {
    return NarrowAll<E>(cells);
  } else {
    Vector<E, n> elements;
#pragma unroll
    for (int i = 0; i < n; ++i) elements[i] = ElementOf<E>(cells[i]);
    return elements;
  }
}

// Calls f(E{}) for the one of Elements that matches `dtype`; the most frequent types come first.
template <typename... Elements, typename F>
__device__ __forceinline__ void VisitOneOf(DType dtype, F f) {
  ((dtype == kDTypeOf<Elements> && (f(Elements{}), true)) || ...);
}
template <typename Cell, typename F>
__device__ __forceinline__ void VisitRead(DType dtype, F f) {
  if constexpr (std::is_same_v<Cell, float>) {
    VisitOneOf<Half, BHalf, float, Boolean, int8_t, uint8_t, int16_t, uint16_t>(dtype, f);
  } else {
    VisitOneOf<int64_t, double, float, int32_t, Boolean, Half, BHalf, int8_t, uint8_t, int16_t,
               uint16_t, uint32_t, uint64_t>(dtype, f);
  }
}
template <typename F>
__device__ __forceinline__ void VisitWritten(DType dtype, F f) {
  VisitOneOf<Half, BHalf, float, Boolean, int64_t, int32_t, double, int8_t, uint8_t, int16_t,
             uint16_t, uint32_t, uint64_t>(dtype, f);
}
// Calls f(T{}) with the type of an instruction.
template <typename F>
__device__ __forceinline__ void VisitType(PointwiseType type, F f) {
  if (type == PointwiseType::kF32) return f(float{});
  if (type == PointwiseType::kF64) return f(double{});
  if (type == PointwiseType::kI64) return f(int64_t{});
  f(uint64_t{});
}

// The position of a thread.
struct Position {
  int64_t lane;      // first lane of its vector
  uint32_t present;  // lanes of the vector that are in the tensor
  uint32_t stage;    // address in shared memory
};

__device__ __forceinline__ uint32_t SharedAddressOf(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Staged vectors are in shared memory as accesses of this size, interleaved over the threads.
constexpr int AccessBytes(int vector_bytes) {
  return vector_bytes < kVectorBytes ? vector_bytes : kVectorBytes;
}

template <int bytes>
__device__ __forceinline__ void CopyAsync(uint32_t to, const std::byte* from, int present) {
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(bytes),
                 "r"(present)
                 : "memory");
  }
}

// Starts the prefetch of one vector of each staged operand; bytes beyond the tensor become zero.
template <int vector>
__device__ __forceinline__ void Stage(const PointwiseParameters& p, int64_t lane, uint32_t stage) {
  for (int k = 0; k < p.staged; ++k) {
    const PointwiseOperand& operand = p.operands[k];
    const auto copy = [&](auto element_bytes) {
      constexpr int kElement = element_bytes, kBytes = vector * kElement;
      constexpr int kAccess = AccessBytes(kBytes);
      if constexpr (kAccess >= 4) {
        const int64_t left = (p.lanes - lane) * kElement;
        const std::byte* from = static_cast<const std::byte*>(operand.data) + lane * kElement;
        uint32_t to = stage + operand.stage_at + threadIdx.x * kAccess;
#pragma unroll
        for (int at = 0; at < kBytes; at += kAccess) {
          const int64_t rest = left - at;
          const int present = rest >= kAccess ? kAccess : rest > 0 ? static_cast<int>(rest) : 0;
          CopyAsync<kAccess>(to, present > 0 ? from + at : from, present);
          to += kPointwiseThreads * kAccess;
        }
      }
    };
    switch (operand.element_bytes) {
      case 1:
        copy(std::integral_constant<int, 1>());
        break;
      case 2:
        copy(std::integral_constant<int, 2>());
        break;
      case 4:
        copy(std::integral_constant<int, 4>());
        break;
      default:
        copy(std::integral_constant<int, 8>());
    }
  }
}

template <typename E, int n>
__device__ __forceinline__ Vector<E, n> LoadStaged(uint32_t at) {
  constexpr int kBytes = n * static_cast<int>(sizeof(E)), kAccess = AccessBytes(kBytes);
  Vector<E, n> elements;
  uint32_t words[kBytes < 4 ? 1 : kBytes / 4];
#pragma unroll
  for (int i = 0; i < kBytes / kAccess; ++i) {
    const uint32_t from = at + i * kPointwiseThreads * kAccess;
    if constexpr (kAccess == 16) {
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words[4 * i]), "=r"(words[4 * i + 1]), "=r"(words[4 * i + 2]),
                     "=r"(words[4 * i + 3])
                   : "r"(from)
                   : "memory");
    } else if constexpr (kAccess == 8) {
      asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                   : "=r"(words[2 * i]), "=r"(words[2 * i + 1])
                   : "r"(from)
                   : "memory");
    } else if constexpr (kAccess == 4) {
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(words[i]) : "r"(from) : "memory");
    }
  }
  memcpy(&elements, words, sizeof(elements));
  return elements;
}

// The offset of the operand's element at `lane`; `inner` gets the index along the innermost axis. A
// padding lane gets the last element of that axis.
__device__ __forceinline__ uint32_t OffsetOf(const PointwiseParameters& p,
                                             const PointwiseOperand& operand, int64_t lane,
                                             uint32_t& inner) {
  uint32_t offset = 0;
  uint64_t rest = static_cast<uint64_t>(lane);
  for (int axis = p.axes - 1; axis >= 0; --axis) {
    uint32_t index;
    if (p.is_large) {
      index = static_cast<uint32_t>(p.large_extents[axis].Split(rest));
    } else {
      uint32_t small = static_cast<uint32_t>(rest);
      index = p.extents[axis].Split(small);
      rest = small;
    }
    if (axis == p.axes - 1) {
      inner = index;
      if (p.inner_elements > 0) index = min(index, p.inner_elements - 1u);
    }
    offset += index * static_cast<uint32_t>(operand.strides[axis]);
  }
  return offset;
}

// The bits of an element, in the low bits of a cell.
template <typename Cell>
using BitsOfCell = std::conditional_t<std::is_same_v<Cell, float>, uint32_t, uint64_t>;

template <typename E, typename Bits, int n>
__device__ __forceinline__ void Gather(const PointwiseParameters& p,
                                       const PointwiseOperand& operand, const Position& position,
                                       Bits (&to)[n]) {
  const E* from = static_cast<const E*>(operand.data);
  const int last = p.axes - 1;
  const uint32_t run =
      p.is_large ? static_cast<uint32_t>(p.large_extents[last].divisor) : p.extents[last].divisor;
  const uint32_t stride = static_cast<uint32_t>(operand.strides[last]);
  const uint32_t elements = p.inner_elements > 0 ? p.inner_elements : run;
  uint32_t inner = 0;
  uint32_t offset = OffsetOf(p, operand, position.lane, inner);
#pragma unroll
  for (int i = 0; i < n; ++i) {
    to[i] = from[offset];
    if (i + 1 >= static_cast<int>(position.present)) continue;
    if (inner + 1 == run) {
      offset = OffsetOf(p, operand, position.lane + i + 1, inner);
    } else {
      ++inner;
      if (inner < elements) offset += stride;
    }
  }
}

// The last vector of an operand that has the layout of the outputs.
template <typename E, typename Bits, int n>
__device__ __forceinline__ void LoadTail(const PointwiseOperand& operand, const Position& position,
                                         Bits (&to)[n]) {
  const E* from = static_cast<const E*>(operand.data) + position.lane;
#pragma unroll
  for (int i = 0; i < n; ++i) to[i] = from[min(static_cast<uint32_t>(i), position.present - 1)];
}

template <typename Bits, int n>
__device__ __forceinline__ void LoadOneByOne(const PointwiseParameters& p,
                                             const PointwiseOperand& operand,
                                             const Position& position, Bits (&to)[n]) {
  const auto load = [&](auto word) {
    using E = decltype(word);
    if (operand.access == PointwiseAccess::kDirect) return LoadTail<E>(operand, position, to);
    Gather<E>(p, operand, position, to);
  };
  switch (operand.element_bytes) {
    case 1:
      return load(uint8_t{});
    case 2:
      return load(uint16_t{});
    case 4:
      return load(uint32_t{});
    default:
      if constexpr (sizeof(Bits) == 8) load(uint64_t{});
  }
}

template <typename E, typename Bits>
__device__ __forceinline__ E ElementOfBits(Bits bits) {
  E element;
  memcpy(&element, &bits, sizeof(E));  // the low bytes come first
  return element;
}

// Operand `index` as the interpreter's b.
template <typename Cell, int n>
__device__ __forceinline__ void LoadOperand(const PointwiseParameters& p, int index,
                                            const Position& position, Cell (&b)[n]) {
  const PointwiseOperand& operand = p.operands[index];
  if (operand.access == PointwiseAccess::kGathered ||
      (operand.access == PointwiseAccess::kDirect && position.present < n)) {
    BitsOfCell<Cell> bits[n];
    LoadOneByOne(p, operand, position, bits);
    return VisitRead<Cell>(operand.dtype, [&](auto element) {
      using E = decltype(element);
#pragma unroll
      for (int i = 0; i < n; ++i) b[i] = CellOf<Cell>(ElementOfBits<E>(bits[i]));
    });
  }
  int64_t first = position.lane;
  if (operand.access > PointwiseAccess::kDirect) {
    uint32_t inner;
    first = OffsetOf(p, operand, position.lane, inner);
  }
  VisitRead<Cell>(operand.dtype, [&](auto element) {
    using E = decltype(element);
    const E* from = static_cast<const E*>(operand.data) + first;
    if (operand.access == PointwiseAccess::kRepeated) {
      const Cell one = CellOf<Cell>(*from);
#pragma unroll
      for (int i = 0; i < n; ++i) b[i] = one;
      return;
    }
    constexpr int kAccess = AccessBytes(n * static_cast<int>(sizeof(E)));
    Vector<E, n> elements;
    if (kAccess >= 4 && operand.access == PointwiseAccess::kStaged) {
      elements = LoadStaged<E, n>(position.stage + operand.stage_at + threadIdx.x * kAccess);
    } else {
      elements = LoadVector<n>(from);
    }
    CellsOf(elements, b);
  });
}

template <typename Cell, int n>
__device__ __forceinline__ void Store(const PointwiseOutput& output, const Position& position,
                                      const Cell (&a)[n]) {
  VisitWritten(output.dtype, [&](auto element) {
    using E = decltype(element);
    E* to = static_cast<E*>(output.data) + position.lane;
    StorePresent(to, ElementsOf<E>(a), static_cast<int>(position.present));
  });
}

template <typename Cell, int n>
__device__ __forceinline__ void ClearPadding(const PointwiseParameters& p, const Position& position,
                                             Cell (&a)[n]) {
  const int last = p.axes - 1;
  const uint32_t run =
      p.is_large ? static_cast<uint32_t>(p.large_extents[last].divisor) : p.extents[last].divisor;
  uint32_t inner = p.is_large ? static_cast<uint32_t>(p.large_extents[last].Modulo(
                                    static_cast<uint64_t>(position.lane)))
                              : p.extents[last].Modulo(static_cast<uint32_t>(position.lane));
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if (inner >= static_cast<uint32_t>(p.inner_elements)) a[i] = Cell{};
    inner = inner + 1 == run ? 0 : inner + 1;
  }
}

template <typename Cell, int n>
__device__ __forceinline__ void Round(DType dtype, PointwiseType type, Cell (&a)[n]) {
  if constexpr (std::is_same_v<Cell, float>) {
    VisitOneOf<Half, BHalf, Boolean, int8_t, uint8_t, int16_t, uint16_t>(dtype, [&](auto element) {
      using E = decltype(element);
      WidenAll(NarrowAll<E>(a), a);
    });
  } else {
    VisitType(type, [&](auto number) {
      using T = decltype(number);
      VisitWritten(dtype, [&](auto element) {
        using E = decltype(element);
#pragma unroll
        for (int i = 0; i < n; ++i) a[i] = CellOf<Cell>(Narrow<E>(FromCell<T>(a[i])));
      });
    });
  }
}

template <typename Cell, int n>
__device__ __forceinline__ void Convert(PointwiseType from, PointwiseType to, Cell (&a)[n]) {
  if constexpr (!std::is_same_v<Cell, float>) {
    VisitType(from, [&](auto source) {
      using S = decltype(source);
      VisitType(to, [&](auto target) {
        using T = decltype(target);
#pragma unroll
        for (int i = 0; i < n; ++i) a[i] = ToCell<Cell>(Widen<T>(FromCell<S>(a[i])));
      });
    });
  }
}

}  // namespace onnx_cudnn::lanes
