#include <memory>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/constant_folder.h"

namespace onnx_cudnn {
namespace {

class FoldConstantsPass final : public NodePass {
 public:
  std::string_view name() const override { return "fold-constants"; }
  bool StartsAt(const Node& node) const override { return ConstantFolder::StartsAt(node); }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    if (folder_ == nullptr) folder_ = std::make_unique<ConstantFolder>(context().limits);
    return folder_->Fold(graph, node);
  }

 private:
  std::unique_ptr<ConstantFolder> folder_;
};

}  // namespace

std::unique_ptr<Pass> FoldConstants() { return std::make_unique<FoldConstantsPass>(); }

}  // namespace onnx_cudnn
