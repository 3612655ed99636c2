#include <algorithm>

#include "passes/rewrite/permutation.h"
#include "passes/rewrite/rewrites.h"

namespace onnx_cudnn {

std::optional<std::vector<int64_t>> PermOf(const Node& transpose) {
  if (transpose.attrs().Has("perm")) return transpose.attrs().Ints("perm");
  if (!transpose.input(0).type().ranked) return std::nullopt;
  std::vector<int64_t> perm(transpose.input(0).rank());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(perm.size() - 1 - i);
  return perm;
}

bool IsIdentityPerm(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

namespace {

bool IsPermutation(std::vector<int64_t> perm, size_t rank) {
  std::sort(perm.begin(), perm.end());
  return perm.size() == rank && IsIdentityPerm(perm);
}

bool IsTranspose(const Node* node) {
  return node != nullptr && node->op() == "Transpose" && node->domain().empty();
}

class CancelTransposesPass final : public NodePass {
 public:
  std::string_view name() const override { return "cancel-transposes"; }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    if (!IsTranspose(&node)) return Match::None();
    const std::optional<std::vector<int64_t>> perm = PermOf(node);
    if (!perm.has_value()) return Match::No(node, "the rank is not known");
    if (IsIdentityPerm(*perm)) {
      graph.ReplaceAllUses(node.output(0), node.input(0));
      return Match::Changed();
    }
    Node* before = node.input(0).producer();
    if (!IsTranspose(before)) return Match::No(node, "input 0 is not a Transpose");
    const std::optional<std::vector<int64_t>> first = PermOf(*before);
    if (!first.has_value()) return Match::No(*before, "the rank is not known");
    if (!IsPermutation(*perm, first->size())) return Match::No(node, "perm is no permutation");
    return Compose(graph, node, *before, *first, *perm);
  }

 private:
  // The earlier Transpose may have other users: then it stays for them.
  static Match Compose(Graph& graph, Node& node, Node& before, const std::vector<int64_t>& first,
                       const std::vector<int64_t>& second) {
    std::vector<int64_t> both;
    for (const int64_t axis : second) both.push_back(first[axis]);
    if (IsIdentityPerm(both)) {
      graph.ReplaceAllUses(node.output(0), before.input(0));
    } else {
      graph.SetAttr(node, "perm", both);
      graph.SetInput(node, 0, &before.input(0));
    }
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> CancelTransposes() { return std::make_unique<CancelTransposesPass>(); }

}  // namespace onnx_cudnn
