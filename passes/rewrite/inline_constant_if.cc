#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/inline_if.h"
#include "passes/rewrite/utils/is_op.h"

namespace onnx_cudnn {
namespace {

class InlineConstantIfPass final : public NodePass {
 public:
  std::string_view name() const override { return "inline-constant-if"; }
  bool StartsAt(const Node& node) const override { return IsOp(&node, {"If"}); }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override { return InlineIf(graph, node); }
};

}  // namespace

std::unique_ptr<Pass> InlineConstantIf() { return std::make_unique<InlineConstantIfPass>(); }

}  // namespace onnx_cudnn
