#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/ops/op_def.h"

namespace onnx_cudnn {

// The functions that RNN, GRU and LSTM may apply to a gate.
struct GateActivation {
  enum class Kind : uint8_t {
    kAffine,
    kElu,
    kHardSigmoid,
    kLeakyRelu,
    kRelu,
    kScaledTanh,
    kSigmoid,
    kSoftplus,
    kSoftsign,
    kTanh,
    kThresholdedRelu,
  };
  Kind kind = Kind::kTanh;
  float alpha = 0, beta = 0;

  template <typename T>
  T operator()(T x) const;
};

// The activations of a Node; its attribute "activations" lists as many as `defaults` for each
// direction. Activations with parameters consume activation_alpha and activation_beta in order.
//   errors  InvalidArgument: an unknown name, or a list of another length
absl::StatusOr<std::vector<GateActivation>> GateActivationsOf(
    const Node& node, absl::Span<const std::string_view> defaults, int64_t directions);

template <typename T>
T GateActivation::operator()(T x) const {
  const T a = alpha, b = beta;
  switch (kind) {
    case Kind::kAffine:
      return a * x + b;
    case Kind::kElu:
      return x < 0 ? a * std::expm1(x) : x;
    case Kind::kHardSigmoid:
      return std::fmax(T{0}, std::fmin(T{1}, a * x + b));
    case Kind::kLeakyRelu:
      return x < 0 ? a * x : x;
    case Kind::kRelu:
      return x < 0 ? T{0} : x;
    case Kind::kScaledTanh:
      return a * std::tanh(b * x);
    case Kind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Kind::kSoftplus:
      return std::fmax(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
    case Kind::kSoftsign:
      return x / (1 + std::abs(x));
    case Kind::kTanh:
      return std::tanh(x);
    case Kind::kThresholdedRelu:
      return x >= a ? x : T{0};
  }
  return x;
}

}  // namespace onnx_cudnn
