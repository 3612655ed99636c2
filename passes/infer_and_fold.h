#pragma once

#include <vector>

#include "absl/status/status.h"
#include "passes/pass.h"
#include "passes/rewrite/utils/constant_folder.h"
#include "passes/rewrite/utils/inline_body.h"
#include "runtime/graph/infer.h"
#include "runtime/graph/node_refusal.h"

namespace onnx_cudnn {

// Visits the Nodes of a Graph in topological order. Infers each Node whose outputs are not static
// yet, then folds it at once, so that shapes computed from shapes are known before their users are
// inferred. Replaces an If on a constant by its branch, a sequence by its elements, and a loop with
// a known number of iterations by copies of its body. Infers both branches of any other If. The
// folding limits hold for all Graphs together.
class InferAndFold {
 public:
  //   refusals  receives the Nodes that inference refuses, whose types then stay open; nullptr: the
  //             first such refusal is an error of Run
  InferAndFold(const PassLimits& limits, std::vector<Remark>* remarks,
               std::vector<NodeRefusal>* refusals = nullptr)
      : folder_(limits), remarks_(remarks), refusals_(refusals) {}

  // errors  those of ShapeInference::Infer; Unimplemented: inference fails in a branch of an If
  // that stays
  absl::Status Run(Graph& graph);
  // What remains of the budget for copies of bodies.
  const CopyBudget& budget() const { return budget_; }
  double fold_ms() const { return fold_ms_; }  // spent on folding until now

 private:
  absl::Status RunNodes(Graph& graph, const std::vector<Node*>& order, ShapeInference& inference);
  absl::Status RunNode(Graph& graph, Node& node, ShapeInference& inference);
  absl::Status RunBodies(Graph& graph, Node& node, ShapeInference& inference);

  ConstantFolder folder_;
  CopyBudget budget_;
  std::vector<Remark>* remarks_;
  std::vector<NodeRefusal>* refusals_;
  int depth_ = 0;  // of bodies
  double fold_ms_ = 0;
};

}  // namespace onnx_cudnn
