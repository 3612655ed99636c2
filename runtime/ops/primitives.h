// What is known of each element-wise primitive: the rows of primitives.inc as an enum and a table.
// Plain C++: .cu files include it.
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
  // leaves that stay: an operand of the Node, a number
  kInput,
  kConstant,
  // leaves that BindPointwise replaces
  kAttribute,    // a number attribute; `value` when it is absent
  kAttributeIs,  // whether the string attribute is `text`
  kHasInput,     // whether the operand is there
  kInputCount,   // how many operands there are
  kFoldInputs,   // all operands joined by the binary primitive `fold`, from the first to the last
};

enum class PrimitiveTypes : uint8_t { kAny, kFloats, kIntegers };
// Of one element on the host and, roughly, on a GPU.
enum class PrimitiveCost : uint8_t {
  kCheap,       // a few instructions, which vectorize
  kBranch,      // a few, which do not
  kSlow,        // one instruction of many cycles
  kVectorized,  // a function; the host has a loop of vectors for f32 (float_math.h)
  kFunction,    // a call per element of the math library
};
// Which kernels of ours compute it, of those that compute in its types.
enum class PrimitiveExecutors : uint8_t {
  kEverywhere,
  kPrograms,      // not chains, simple forms and activations: one switch less in their loops
  kFullPrograms,  // nor programs for the interpreters of few registers, see PointwiseInterpreter
  kNoEpilogue,    // nor epilogues: its slow path takes local memory
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

// Whether a primitive is defined on numbers of type T.
template <typename T>
constexpr bool IsDefinedOn(PrimitiveTypes types) {
  if (types == PrimitiveTypes::kAny) return true;
  return std::is_floating_point_v<T> == (types == PrimitiveTypes::kFloats);
}

// Enums of instructions hold a kernel's own ones and then all primitives in the order of their
// rows: the code of a primitive, and the primitive of such a code.
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
