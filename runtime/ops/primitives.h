// The element-wise primitives: the rows of primitives.inc as an enum and a table. Plain C++: .cu
// files include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

namespace onnx_cudnn {

enum class Primitive : uint8_t {
#define PRIMITIVE(name, ...) k##name,
#include "runtime/ops/primitives.inc"
  // leaves that remain after binding: an operand of the Node, a number
  kInput,
  kConstant,
  // leaves that BindPointwise replaces
  kAttribute,    // a numeric attribute; `value` if it is absent
  kAttributeIs,  // whether the string attribute is `text`
  kHasInput,     // whether the operand is present
  kInputCount,   // number of operands
  kFoldInputs,   // left fold of all operands with the binary primitive `fold`
};

enum class PrimitiveTypes : uint8_t { kAny, kFloats, kIntegers };
// Cost per element on the host and, roughly, on a GPU.
enum class PrimitiveCost : uint8_t {
  kCheap,       // a few vectorizable instructions
  kBranch,      // a few instructions that do not vectorize
  kSlow,        // one instruction of high latency
  kVectorized,  // a function with a vectorized f32 loop on the host (float_math.h)
  kFunction,    // a math library call per element
};
// Which of our kernels support it, among those that compute in its types.
enum class PrimitiveExecutors : uint8_t {
  kEverywhere,
  kPrograms,  // not in chains, simple forms and activations, which keeps their switches small
  // Also not in programs of the interpreters with few registers, see PointwiseInterpreter.
  kFullPrograms,
  kNoEpilogue,  // also not in epilogues, because its slow path uses local memory
};

struct PrimitiveTraits {
  std::string_view name;
  int arity;  // 0: a leaf
  PrimitiveTypes types;
  PrimitiveCost cost;
  PrimitiveExecutors executors;
  bool has_cudnn_mode;
};

inline constexpr PrimitiveTraits kPrimitives[] = {
#define PRIMITIVE(name, arity, types, cost, executors, expression, cudnn_mode) \
  {#name,                                                                      \
   arity,                                                                      \
   PrimitiveTypes::types,                                                      \
   PrimitiveCost::cost,                                                        \
   PrimitiveExecutors::executors,                                              \
   std::string_view(#cudnn_mode) != "kNone"},
#include "runtime/ops/primitives.inc"
};
inline constexpr PrimitiveTraits kLeafTraits = {"leaf", 0, {}, {}, {}, false};

constexpr const PrimitiveTraits& TraitsOf(Primitive primitive) {
  const size_t row = static_cast<size_t>(primitive);
  return row < std::size(kPrimitives) ? kPrimitives[row] : kLeafTraits;
}
constexpr int ArityOf(Primitive primitive) { return TraitsOf(primitive).arity; }

constexpr bool IsComputedEverywhere(Primitive primitive) {
  return TraitsOf(primitive).executors == PrimitiveExecutors::kEverywhere;
}

constexpr bool AreSortedByArity() {
  for (size_t i = 1; i < std::size(kPrimitives); ++i) {
    if (kPrimitives[i].arity < kPrimitives[i - 1].arity) return false;
  }
  return true;
}
static_assert(AreSortedByArity());
constexpr Primitive FirstOfTwoArguments() {
  int first = 0;
  while (kPrimitives[first].arity < 2) ++first;
  return static_cast<Primitive>(first);
}

// Whether a primitive is defined for type T.
template <typename T>
constexpr bool IsDefinedOn(PrimitiveTypes types) {
  if (types == PrimitiveTypes::kAny) return true;
  return std::is_floating_point_v<T> == (types == PrimitiveTypes::kFloats);
}

// Instruction enums contain a kernel's own codes and then all primitives in row order. These
// convert between the code of a primitive and the primitive of a code.
template <typename Code>
constexpr Code CodeOf(Primitive primitive) {
  return static_cast<Code>(static_cast<int>(Code::kAbs) + static_cast<int>(primitive));
}
template <typename Code>
constexpr bool IsPrimitive(Code code) {
  return code >= Code::kAbs;
}
template <typename Code>
constexpr Primitive PrimitiveOf(Code code) {
  return static_cast<Primitive>(static_cast<int>(code) - static_cast<int>(Code::kAbs));
}
static_assert(Primitive::kAbs == Primitive{}, "kAbs is the first row");

}  // namespace onnx_cudnn
