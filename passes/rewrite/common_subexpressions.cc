#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/merge_nodes.h"

namespace onnx_cudnn {
namespace {

class CommonSubexpressionsPass final : public Pass {
 public:
  std::string_view name() const override { return "common-subexpressions"; }
  absl::StatusOr<bool> Run(Graph& graph, PassContext& context) override {
    return MergeNodes(graph, context, name(), [](const Node&) { return true; });
  }
};

}  // namespace

std::unique_ptr<Pass> CommonSubexpressions() {
  return std::make_unique<CommonSubexpressionsPass>();
}

}  // namespace onnx_cudnn
