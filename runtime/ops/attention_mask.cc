#include "runtime/ops/attention_mask.h"

#include <algorithm>
#include <cmath>

#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

constexpr double kLeast = -1e38;
constexpr int kMostNodes = 8;  // on a path from the mask

bool AreAtLeast(const HostTensor& tensor, double least, bool may_be_infinite) {
  return VisitElementType(tensor.dtype(), [&](auto element) {
    const auto numbers = tensor.data<decltype(element)>();
    return std::all_of(numbers.begin(), numbers.end(), [&](auto number) {
      const auto wide = Widen<double>(number);
      return wide >= least || (may_be_infinite && std::isinf(wide));
    });
  });
}

bool IsSafe(const Value& value, double least, int most);

// Where(IsInf(x), x, y).
bool KeepsInfinite(const Node& where) {
  const Node* condition = where.input(0).producer();
  return condition != nullptr && condition->op() == "IsInf" &&
         &condition->input(0) == &where.input(1);
}

bool IsSafeResult(const Node& node, double least, int most) {
  const auto is_safe = [&](int input) { return IsSafe(node.input(input), least, most - 1); };
  if (!node.domain().empty() || most == 0) return false;
  const std::string& op = node.op();
  if (op == "Where") return (KeepsInfinite(node) || is_safe(1)) && is_safe(2);
  if (op == "Add") {
    return IsSafe(node.input(0), least / 2, most - 1) && IsSafe(node.input(1), least / 2, most - 1);
  }
  if (op == "Max") {
    return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Value* v) {
      return v->is_constant() && AreAtLeast(v->constant(), least, false);
    });
  }
  const bool moves = op == "Reshape" || op == "Expand" || op == "Unsqueeze" || op == "Squeeze" ||
                     op == "Transpose" || op == "Slice" || op == "Cast" || op == "Gather";
  return moves && is_safe(0);
}

bool IsSafe(const Value& value, double least, int most) {
  // The lowest f16 is far above.
  if (value.dtype() == DType::kF16) return true;
  if (value.is_constant()) return AreAtLeast(value.constant(), least, true);
  return value.producer() != nullptr && IsSafeResult(*value.producer(), least, most);
}

}  // namespace

bool IsSafeMask(const Value& mask) { return IsSafe(mask, kLeast, kMostNodes); }

}  // namespace onnx_cudnn
