#pragma once

#include <vector>

#include "absl/status/status.h"
#include "passes/pass.h"
#include "passes/rewrite/fold_constants.h"
#include "passes/rewrite/utils/inline_body.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {

// Sweeps Graphs in topological order, each Node inferred where its outputs are not static yet, then
// folded at once, so that shapes computed from shapes are known before their users are inferred. An
// If on a constant gives way to its branch, a sequence to its elements, a loop whose turns can be
// counted to its turns. Of an If that stays both branches are inferred, each of which may be taken.
// The limits on folding hold over all its Graphs together.
class InferAndFold {
 public:
  InferAndFold(const PassLimits& limits, std::vector<Remark>* remarks)
      : folder_(limits), remarks_(remarks) {}

  // errors  what ShapeInference::Infer says; Unimplemented: a branch of an If that stays does not
  // infer
  absl::Status Run(Graph& graph);
  // What copies of bodies may still add.
  const CopyBudget& budget() const { return budget_; }

 private:
  absl::Status RunNodes(Graph& graph, const std::vector<Node*>& order, ShapeInference& inference);
  absl::Status RunNode(Graph& graph, Node& node, ShapeInference& inference);
  absl::Status RunBodies(Graph& graph, Node& node, ShapeInference& inference);

  ConstantFolder folder_;
  CopyBudget budget_;
  std::vector<Remark>* remarks_;
};

}  // namespace onnx_cudnn
