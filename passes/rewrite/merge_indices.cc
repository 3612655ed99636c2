// Merges Nodes of indices once shapes are numbers: then the positions of all layers of a decoder
// are equal. common-subexpressions would also merge the copies of clone-cheap, which are to stay.
#include <algorithm>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/merge_nodes.h"

namespace onnx_cudnn {
namespace {

// Whether it computes positions, lengths or conditions, or reads rows of a constant table.
bool IsOfIndices(const Node& node) {
  if (!node.bodies().empty() || !node.domain().empty()) return false;
  if (node.op() == "Gather" && node.input(0).is_constant()) return true;
  constexpr DTypeSet kTypes = {DType::kI64, DType::kI32, DType::kBool};
  return std::all_of(node.outputs().begin(), node.outputs().end(),
                     [&](const Value* v) { return v == nullptr || kTypes.Has(v->dtype()); });
}

class MergeIndicesPass final : public Pass {
 public:
  std::string_view name() const override { return "merge-indices"; }
  absl::StatusOr<bool> Run(Graph& graph, PassContext& context) override {
    return MergeNodes(graph, context, name(), IsOfIndices);
  }
};

}  // namespace

std::unique_ptr<Pass> MergeIndices() { return std::make_unique<MergeIndicesPass>(); }

}  // namespace onnx_cudnn
