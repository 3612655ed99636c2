#include "passes/infer_and_fold.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/rewrite/utils/inline_if.h"
#include "passes/rewrite/utils/resolve_sequences.h"
#include "passes/rewrite/utils/unroll.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

bool HasStaticOutputs(const Node& node) {
  return std::all_of(node.outputs().begin(), node.outputs().end(),
                     [](const Value* v) { return v == nullptr || v->is_static(); });
}

// Otherwise a refusal of the Node follows from that of the one that writes the input.
bool HasTypedInputs(const Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(), [](const Value* v) {
    return v == nullptr || v->type().kind != Type::Kind::kUnknown;
  });
}

// For a branch that contradicts these shapes; with them, it is never taken.
absl::Status UnfitBranch(const Node& node, std::string_view branch, const absl::Status& why) {
  if (!absl::IsInvalidArgument(why)) return why;
  return absl::UnimplementedError(absl::StrCat(
      Where(node), ": its condition is known only when it runs, so both branches must fit these ",
      "shapes; ", branch, " does not: ", why.message()));
}

}  // namespace

absl::Status InferAndFold::Run(Graph& graph) {
  ShapeInference inference(graph);
  return RunNodes(graph, graph.TopologicalOrder(), inference);
}

absl::Status InferAndFold::RunNodes(Graph& graph, const std::vector<Node*>& order,
                                    ShapeInference& inference) {
  for (Node* node : order) {
    RETURN_IF_ERROR(CheckCancelled());
    const absl::Status status = RunNode(graph, *node, inference);
    if (refusals_ == nullptr || !IsRefusal(status)) {
      RETURN_IF_ERROR(status);
    } else if (HasTypedInputs(*node)) {
      refusals_->push_back(RefusalOf(*node, status));
      if (depth_ > 0) refusals_->back().id = -1;  // it is not a Node of the Graph given to Run
    }
  }
  return absl::OkStatus();
}

absl::Status InferAndFold::RunNode(Graph& graph, Node& node, ShapeInference& inference) {
  const int first_new = graph.node_ids();
  if (InlineIf(graph, node).changed() || ResolveSequence(graph, node, budget_).changed() ||
      Unroll(graph, node, budget_).changed()) {
    graph.Remove(node);
    std::vector<Node*> added;  // in topological order
    for (int id = first_new; id < graph.node_ids(); ++id) added.push_back(graph.node(id));
    return RunNodes(graph, added, inference);
  }
  if (!node.bodies().empty() || !HasStaticOutputs(node)) {
    RETURN_IF_ERROR(inference.Infer(node));
  }
  if (!node.bodies().empty()) return RunBodies(graph, node, inference);
  const absl::Time start = absl::Now();
  const Match match = folder_.Fold(graph, node);
  fold_ms_ += absl::ToDoubleMilliseconds(absl::Now() - start);
  if (match.refused() && remarks_ != nullptr) {
    remarks_->push_back({"bind-shapes", Where(node), std::string(match.reason())});
  }
  if (match.changed()) graph.Remove(node);
  return absl::OkStatus();
}

absl::Status InferAndFold::RunBodies(Graph& graph, Node& node, ShapeInference& inference) {
  SinkConstants(graph, node);
  for (auto& [name, body] : graph.MutableBodies(node)) {
    ++depth_;
    const absl::Status status = Run(*body);
    --depth_;
    if (!status.ok()) return node.op() == "If" ? UnfitBranch(node, name, status) : status;
  }
  return inference.Infer(node);
}

}  // namespace onnx_cudnn
