#include "passes/rewrite/rewrites.h"
#include "passes/sweep.h"

namespace onnx_cudnn {
namespace {

class DeadCodePass final : public Pass {
 public:
  std::string_view name() const override { return "dead-code"; }
  absl::StatusOr<bool> Run(Graph& graph, PassContext&) override { return SweepDead(graph) > 0; }
};

}  // namespace

std::unique_ptr<Pass> DeadCode() { return std::make_unique<DeadCodePass>(); }

}  // namespace onnx_cudnn
