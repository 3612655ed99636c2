// Activations y = f(x) that kernels compute without a program of primitives. Host (activation.cc)
// and device (activation.cuh) share this.
#pragma once

#include <cstdint>
#include <optional>

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
    kSigmoid,
    kSilu,
    kGate,  // x · sigmoid(x), the sigmoid a Node of its own
    kTanh,
    kGelu,
    kGeluTanh,
    kErf,
    kExp,
    kLog,
    kSqrt,
    kNeg,
    kAbs,
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
