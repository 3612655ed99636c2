// Activations y = f(x) that kernels compute directly (activation.cuh), without an epilogue program.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/ops/primitives.h"

namespace onnx_cudnn {

class Node;
class Value;

struct Activation {
  enum class Kind : uint8_t {
    kNone,
    kRelu,
    kLeaky,        // x < 0 ? first · x : x
    kClip,         // min(max(x, first), second)
    kHardSigmoid,  // max(min(first · x + second, 1), 0)
    kHardSwish,
    kSilu,
    kGate,  // x · sigmoid(x) with the sigmoid rounded, because it is a Node of its own
    kGelu,
    kGeluTanh,
// The primitives: the unary ones that every kernel computes are activations.
#define PRIMITIVE(name, ...) k##name,
#include "runtime/ops/primitives.inc"
  };
  Kind kind = Kind::kNone;
  float first = 0, second = 0;
};

// The value of a constant of one element; nullopt for any other Value.
std::optional<float> ConstantNumber(const Value& value);

// The activation that a unary Node computes; kNone: it is not one, or its parameters are not
// constants.
Activation ActivationOf(const Node& node);

// Whether the two Nodes compute x · sigmoid(x).
bool IsGate(const Node& first, const Node& second);

}  // namespace onnx_cudnn
