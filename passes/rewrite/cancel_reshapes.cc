#include <algorithm>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/add_reshape.h"
#include "passes/rewrite/utils/is_op.h"

namespace onnx_cudnn {
namespace {

// Whether the output has the elements of input 0 in the same order with other dims.
bool OnlyChangesDims(const Node* node) {
  return IsOp(node, {"Flatten", "Reshape", "Squeeze", "Unsqueeze"});
}

// The constant operand 1, sorted; nullopt if it is absent or not constant.
std::optional<std::vector<int64_t>> AxesOperand(const Node& node) {
  if (!node.has_input(1) || !node.input(1).is_constant()) return std::nullopt;
  absl::StatusOr<std::vector<int64_t>> axes = ToInts(node.input(1).constant());
  if (!axes.ok()) return std::nullopt;
  std::sort(axes->begin(), axes->end());
  return *std::move(axes);
}

// Whether they are a Squeeze and an Unsqueeze of the same axes, in either order; both count axes in
// the longer shape.
bool UndoesByAxes(const Node& node, const Node& before) {
  const bool pair = (node.op() == "Squeeze" && before.op() == "Unsqueeze") ||
                    (node.op() == "Unsqueeze" && before.op() == "Squeeze");
  if (!pair) return false;
  const std::optional<std::vector<int64_t>> axes = AxesOperand(node);
  return axes.has_value() && axes == AxesOperand(before);
}

bool SameStaticDims(const Value& a, const Value& b) {
  return a.is_static() && b.is_static() && a.dims() == b.dims();
}

// The shape operand of a Reshape if it does not depend on the input's dims: a constant that does
// not copy any of them.
std::optional<std::vector<int64_t>> OwnOperand(const Node& node) {
  if (node.op() != "Reshape" || !node.input(1).is_constant()) return std::nullopt;
  absl::StatusOr<std::vector<int64_t>> shape = ToInts(node.input(1).constant());
  if (!shape.ok() || std::find(shape->begin(), shape->end(), 0) != shape->end()) {
    return std::nullopt;
  }
  return *std::move(shape);
}

class CancelReshapesPass final : public NodePass {
 public:
  std::string_view name() const override { return "cancel-reshapes"; }
  bool StartsAt(const Node& node) const override { return OnlyChangesDims(&node); }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    Node* before = node.input(0).producer();
    if (!OnlyChangesDims(before)) return Match::No(node, "input 0 is not reshaped");
    Value& x = before->input(0);
    if (UndoesByAxes(node, *before) || SameStaticDims(x, node.output(0))) {
      graph.ReplaceAllUses(node.output(0), x);
      return Match::Changed();
    }
    std::optional<std::vector<int64_t>> shape = ShapeOperand(node.output(0).type());
    if (!shape.has_value()) shape = OwnOperand(node);
    if (!shape.has_value()) return Match::No(node, "two extents of the output are not known");
    ReplaceByReshape(graph, node, x, *shape);
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> CancelReshapes() { return std::make_unique<CancelReshapesPass>(); }

}  // namespace onnx_cudnn
