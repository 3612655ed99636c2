#include "runtime/kernels/cuda/common/activation.h"

#include <cstring>
#include <limits>
#include <map>
#include <string_view>

#include "runtime/graph/graph.h"
#include "runtime/ops/elements.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

using Kind = Activation::Kind;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Kind KindOf(const Node& node) {
  static const auto& kinds = *new std::map<std::string_view, Kind>{
      {"Clip", Kind::kClip},
      {"Gelu", Kind::kGelu},
      {"HardSigmoid", Kind::kHardSigmoid},
      {"HardSwish", Kind::kHardSwish},
      {"LeakyRelu", Kind::kLeaky},
      {"Relu", Kind::kRelu},
      {"Swish", Kind::kSilu},
  };
  if (const auto it = kinds.find(node.op()); it != kinds.end()) return it->second;
  // Is it a primitive of input 0?
  const PointwiseRow* row = FindPointwise(node.op());
  if (row == nullptr || row->expression.terms().size() != 2) return Kind::kNone;
  const Primitive primitive = row->expression.terms()[1].primitive;
  const bool is_activation = ArityOf(primitive) == 1 && IsComputedEverywhere(primitive);
  return is_activation ? CodeOf<Kind>(primitive) : Kind::kNone;
}

// An absent input has the value `otherwise`.
std::optional<float> ConstantNumber(const Node& node, int input, float otherwise) {
  return node.has_input(input) ? ConstantNumber(node.input(input)) : otherwise;
}

}  // namespace

std::optional<float> ConstantNumber(const Value& value) {
  if (!value.is_constant() || value.elements() != 1) return std::nullopt;
  return VisitElementType(value.dtype(), [&](auto element) {
    std::memcpy(&element, value.constant().raw(), sizeof(element));
    return Widen<float>(element);
  });
}

Activation ActivationOf(const Node& node) {
  const Attrs& attrs = node.attrs();
  const Kind kind = KindOf(node);
  switch (kind) {
    case Kind::kClip: {
      const std::optional<float> low = ConstantNumber(node, 1, -kInfinity);
      const std::optional<float> high = ConstantNumber(node, 2, kInfinity);
      return low && high ? Activation{kind, *low, *high} : Activation{};
    }
    case Kind::kLeaky:
      return {kind, attrs.Float("alpha", 0.01F)};
    case Kind::kHardSigmoid:
      return {kind, attrs.Float("alpha", 0.2F), attrs.Float("beta", 0.5F)};
    case Kind::kSilu:
      return attrs.Float("alpha", 1) == 1 ? Activation{kind} : Activation{};
    case Kind::kGelu:
      return {attrs.String("approximate", "none") == "tanh" ? Kind::kGeluTanh : kind};
    default:
      return {kind};
  }
}

bool IsGate(const Node& first, const Node& second) {
  if (first.op() != "Sigmoid" || second.op() != "Mul") return false;
  const Value *x = &first.input(0), *gate = &first.output(0);
  const Value *a = &second.input(0), *b = &second.input(1);
  return (a == x && b == gate) || (a == gate && b == x);
}

}  // namespace onnx_cudnn
