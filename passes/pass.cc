#include "passes/pass.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/sweep.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// Runs one NodePass over one Graph and its bodies.
class Driver {
 public:
  Driver(NodePass& pass, Graph& graph, PassContext& context)
      : pass_(pass), graph_(graph), context_(context) {}

  absl::StatusOr<bool> Run() {
    if (!StartsAnywhere()) return false;
    for (const Node* node : graph_.TopologicalOrder()) Enqueue(node);
    while (!queue_.empty()) {
      const int id = queue_.front();
      queue_.pop_front();
      queued_[id] = false;
      if (Node* node = graph_.node(id); node != nullptr && MayVisit(*node)) {
        RETURN_IF_ERROR(VisitOnce(*node));
      }
    }
    if (context_.remarks != nullptr) {
      for (auto& [id, remark] : refusals_) context_.remarks->push_back(std::move(remark));
    }
    return changed_;
  }

 private:
  bool StartsAt(const Node& node) const { return !node.bodies().empty() || pass_.StartsAt(node); }

  bool StartsAnywhere() const {
    for (int id = 0; id < graph_.node_ids(); ++id) {
      if (graph_.node(id) != nullptr && StartsAt(*graph_.node(id))) return true;
    }
    return false;
  }

  void Grow() {
    queued_.resize(graph_.node_ids());
    visits_.resize(graph_.node_ids());
  }

  void Enqueue(const Node* node) {
    if (node == nullptr || !StartsAt(*node)) return;
    Grow();
    if (queued_[node->id()]) return;
    queued_[node->id()] = true;
    queue_.push_back(node->id());
  }

  bool MayVisit(const Node& node) {
    const int64_t visits = ++visits_[node.id()];
    if (visits == context_.limits.visits_per_node + 1 && context_.remarks != nullptr) {
      Note(node.id(), node, absl::StrCat("stopped after ", visits - 1, " visits"));
    }
    return visits <= context_.limits.visits_per_node;
  }

  absl::Status VisitOnce(Node& node) {
    const int id = node.id();
    if (visits_[id] == 1) RETURN_IF_ERROR(RunBodies(node));
    if (!pass_.StartsAt(node)) return absl::OkStatus();
    around_.clear();
    AddAround(node, around_);
    const int first_new = graph_.node_ids();
    ASSIGN_OR_RETURN(const Match match, pass_.Visit(graph_, node));
    if (context_.remarks != nullptr) refusals_.erase(id);
    if (match.refused()) Note(id, match.node(), match.reason());
    if (match.changed()) Revisit(id, around_, first_new);
    return absl::OkStatus();
  }

  absl::Status RunBodies(Node& node) {
    for (auto& [name, body] : graph_.MutableBodies(node)) {
      ASSIGN_OR_RETURN(const bool changed, Driver(pass_, *body, context_).Run());
      changed_ |= changed;
    }
    return absl::OkStatus();
  }

  void Note(int id, const Node& where, std::string_view reason) {
    if (context_.remarks == nullptr) return;
    refusals_[id] = {std::string(pass_.name()), Where(where), std::string(reason)};
  }

  // Adds the producers of the inputs and the consumers of the outputs.
  static void AddAround(const Node& node, std::vector<int>& ids) {
    for (const Value* v : node.inputs()) {
      if (v != nullptr && v->producer() != nullptr) ids.push_back(v->producer()->id());
    }
    for (const Value* v : node.outputs()) {
      if (v == nullptr) continue;
      for (const Use& use : v->uses()) ids.push_back(use.node->id());
    }
  }

  // After a change at Node `id`: removes dead Nodes and visits the Nodes around the change again.
  void Revisit(int id, std::vector<int> touched, int first_new) {
    changed_ = true;
    touched.push_back(id);
    for (int i = first_new; i < graph_.node_ids(); ++i) touched.push_back(i);
    SweepDead(graph_, touched, [&](const Node& dead) {
      for (const Value* v : dead.inputs()) {
        if (v == nullptr) continue;
        if (v->producer() != nullptr) touched.push_back(v->producer()->id());
        if (v->uses().size() > 2)
          continue;  // a change matters to a reader only if it is the last one
        for (const Use& use : v->uses()) touched.push_back(use.node->id());
      }
    });
    for (const int near : touched) Enqueue(graph_.node(near));
    if (const Node* node = graph_.node(id)) {
      touched.clear();
      AddAround(*node, touched);
      for (const int near : touched) Enqueue(graph_.node(near));
    }
  }

  NodePass& pass_;
  Graph& graph_;
  PassContext& context_;
  std::deque<int> queue_;
  std::vector<char> queued_;
  std::vector<int64_t> visits_;
  std::vector<int> around_;         // of the Node being visited
  std::map<int, Remark> refusals_;  // the last refusal at each Node, by id
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> NodePass::Run(Graph& graph, PassContext& context) {
  context_ = &context;
  return Driver(*this, graph, context).Run();
}

OpPass::OpPass(std::string_view name, std::vector<std::string_view> ops)
    : name_(name), ops_(std::move(ops)) {}

bool OpPass::StartsAt(const Node& node) const {
  return node.domain().empty() && std::find(ops_.begin(), ops_.end(), node.op()) != ops_.end();
}

}  // namespace onnx_cudnn
