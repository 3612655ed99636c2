// Activations y = f(x) that kernels compute (activation.cuh) without a program of primitives.
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
    kGate,  // x · sigmoid(x) with the sigmoid rounded: it is a Node of its own
    kGelu,
    kGeluTanh,
// The primitives: those of one argument that are computed everywhere are activations.
#define PRIMITIVE(name, ...) k##name,
#include "runtime/ops/primitives.inc"
  };
  Kind kind = Kind::kNone;
  float first = 0, second = 0;
};

// The only element of a constant; nullopt: it is none, or has others.
std::optional<float> ConstantNumber(const Value& value);

// Of a Node of input 0 alone; kNone: it is no activation, or its numbers are not constants.
Activation ActivationOf(const Node& node);

// Whether the Nodes are x · sigmoid(x).
bool IsGate(const Node& first, const Node& second);

}  // namespace onnx_cudnn
