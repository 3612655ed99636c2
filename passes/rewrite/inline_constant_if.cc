#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/inline_if.h"

namespace onnx_cudnn {
namespace {

class InlineConstantIfPass final : public OpPass {
 public:
  InlineConstantIfPass() : OpPass("inline-constant-if", {"If"}) {}
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override { return InlineIf(graph, node); }
};

}  // namespace

std::unique_ptr<Pass> InlineConstantIf() { return std::make_unique<InlineConstantIfPass>(); }

}  // namespace onnx_cudnn
