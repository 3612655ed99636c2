#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/add_reshape.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/permutation.h"
#include "passes/rewrite/utils/transposed_region.h"

namespace onnx_cudnn {
namespace {

using Perm = std::vector<int64_t>;

// Whether the permutation moves only axes of extent 1.
bool KeepsElementOrder(const Type& type, const Perm& perm) {
  if (!type.is_tensor() || !type.ranked || type.dims.size() != perm.size()) return false;
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (type.dims[axis].value == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

class CancelTransposesPass final : public OpPass {
 public:
  CancelTransposesPass() : OpPass("cancel-transposes", {"Transpose"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    const std::optional<Perm> perm = PermOf(node);
    if (!perm.has_value()) return Match::No(node, "the perm is not known");
    if (IsIdentityPerm(*perm)) {
      graph.ReplaceAllUses(node.output(0), node.input(0));
      return Match::Changed();
    }
    if (KeepsElementOrder(node.input(0).type(), *perm)) {
      const std::optional<Perm> shape = ShapeOperand(node.output(0).type());
      if (!shape.has_value()) return Match::No(node, "two extents of the output are not known");
      ReplaceByReshape(graph, node, node.input(0), *shape);
      return Match::Changed();
    }
    Node* before = node.input(0).producer();
    if (IsOp(before, {"Transpose"})) return Compose(graph, node, *before, *perm);
    if (before != nullptr && IsElementwise(*before)) return CancelAround(graph, node, *perm);
    return Match::No(node, "input 0 is not a Transpose");
  }

 private:
  // The earlier Transpose stays if it has other users.
  static Match Compose(Graph& graph, Node& node, Node& before, const Perm& second) {
    const std::optional<Perm> first = PermOf(before);
    if (!first.has_value()) return Match::No(before, "the perm is not known");
    const std::optional<Perm> both = ComposedPerm(*first, second);
    if (!both.has_value()) return Match::No(node, "the perms differ in rank");
    if (IsIdentityPerm(*both)) {
      graph.ReplaceAllUses(node.output(0), before.input(0));
    } else {
      graph.SetAttr(node, "perm", *both);
      graph.SetInput(node, 0, &before.input(0));
    }
    return Match::Changed();
  }

  // Removes this Transpose, and earlier ones without other users.
  static Match CancelAround(Graph& graph, Node& node, const Perm& perm) {
    TransposedRegion region(perm);
    const std::string_view why = region.Find(node.input(0));
    if (!why.empty()) return Match::No(node, why);
    graph.ReplaceAllUses(node.output(0), region.Rebuild(graph, node.input(0)));
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> CancelTransposes() { return std::make_unique<CancelTransposesPass>(); }

}  // namespace onnx_cudnn
