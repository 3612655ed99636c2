// Replaces an op that no Engine runs by ONNX's own function for it. Static Graphs only: the
// functions depend on types, and Engines propose static Nodes only.
//
// A Node is expanded if no Engine of the Target proposes it (`host` does not count on a GPU), and
// if expanding helps: some Engine must propose every Node of the body, after expanding those Nodes
// if necessary; if `host` runs the op itself, the Engines for the body must not be `host`. In
// bodies of If and similar ops `host` always counts, because only `host` runs them.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "passes/infer_and_fold.h"
#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/inline_body.h"
#include "passes/sweep.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// ONNX's functions are nested at most 3 deep; a deeper nesting means a function that calls itself.
constexpr int kMostDepth = 16;

using Engines = std::vector<const Engine*>;

class AnySink final : public CandidateSink {
 public:
  void Add(Candidate) override { any_ = true; }
  void No(const Engine&, const Node&, std::string) override {}
  bool any() const { return any_; }

 private:
  bool any_ = false;
};

// The Engines that may run the Nodes of a Graph.
struct Runners {
  Engines good;  // a Node that one of these proposes is not expanded
  Engines all;
};

bool IsHost(const Engine* engine) { return engine->name() == "host"; }

Runners RunnersOf(const Target& target) {
  Runners runners{.good = target.engines, .all = target.engines};
  if (target.info.compute_capability > 0) std::erase_if(runners.good, IsHost);
  return runners;
}

Runners RunnersOfBodies(const Target& target) {
  Engines hosts;
  std::copy_if(target.engines.begin(), target.engines.end(), std::back_inserter(hosts), IsHost);
  return {.good = hosts, .all = hosts};
}

class Decomposer {
 public:
  explicit Decomposer(const PassContext& context)
      : context_(context),
        target_(*context.target),
        functions_(*context.functions),
        infer_and_fold_(context.limits, nullptr) {}

  bool Run(Graph& graph) { return RunGraph(graph, RunnersOf(target_)); }

 private:
  bool RunGraph(Graph& graph, const Runners& runners) {
    bool changed = false;
    for (Node* node : graph.TopologicalOrder()) {
      for (auto& [name, body] : graph.MutableBodies(*node)) {
        changed |= RunGraph(*body, RunnersOfBodies(target_));
      }
      changed |= Expand(graph, *node, runners, 0);
    }
    return changed;
  }

  // Returns whether `node` was replaced by the body of its function.
  bool Expand(Graph& graph, Node& node, const Runners& runners, int depth) {
    if (!functions_.has_body(node) || AnyProposes(runners.good, graph, node)) return false;
    if (depth == kMostDepth) return Note(node, "its function calls itself");
    const bool runs = AnyProposes(runners.all, graph, node);
    const Engines& needed = runs ? runners.good : runners.all;
    absl::StatusOr<Graph> body = BodyOf(node, needed, depth);
    if (!body.ok()) return Note(node, body.status().message());
    if (const std::string name = Unrunnable(*body, needed); !name.empty()) {
      return Note(node, absl::StrCat("its function holds ", name, ", which no ",
                                     runs ? "better " : "", "engine runs"));
    }
    InlineBody(*body, Present(node.inputs()), graph, Present(node.outputs()));
    graph.Remove(node);
    return true;
  }

  static std::vector<Value*> Present(absl::Span<Value* const> values) {
    std::vector<Value*> present(values.begin(), values.end());
    std::erase(present, nullptr);
    return present;
  }

  // The body for the Node's constants, static and folded; Nodes that `needed` do not run are
  // expanded.
  absl::StatusOr<Graph> BodyOf(const Node& node, const Engines& needed, int depth) {
    ASSIGN_OR_RETURN(Graph body, functions_.expand(node));
    size_t next = 0;
    for (const Value* v : node.inputs()) {
      if (v == nullptr) continue;
      Value& input = *body.inputs()[next++];
      if (v->is_constant()) body.ReplaceAllUses(input, body.AddConstant(v->constant(), v->name()));
    }
    RETURN_IF_ERROR(Fold(body));
    bool expanded = false;
    for (Node* inner : body.TopologicalOrder()) {
      expanded |= Expand(body, *inner, {.good = needed, .all = needed}, depth + 1);
    }
    if (expanded) RETURN_IF_ERROR(Fold(body));
    return body;
  }

  absl::Status Fold(Graph& body) {
    RETURN_IF_ERROR(infer_and_fold_.Run(body));
    SweepDead(body);
    return absl::OkStatus();
  }

  // A Node of `body` that none of `engines` proposes; empty: none. Adds an Identity before every
  // output, because `view` refuses graph outputs.
  std::string Unrunnable(const Graph& body, const Engines& engines) const {
    Graph asked = body.Clone();
    for (size_t i = 0; i < asked.outputs().size(); ++i) {
      Value& value = *asked.outputs()[i].value;
      Node& end = asked.AddNode({.op = "Identity", .inputs = {&value}});
      asked.SetType(end.output(0), value.type());
      asked.SetOutput(static_cast<int>(i), end.output(0));
    }
    for (const Node* node : asked.TopologicalOrder()) {
      const bool is_end = node->has_output(0) && node->output(0).is_graph_output();
      if (!is_end && !AnyProposes(engines, asked, *node)) return Where(*node);
    }
    return "";
  }

  bool AnyProposes(const Engines& engines, const Graph& graph, const Node& node) const {
    return std::any_of(engines.begin(), engines.end(), [&](const Engine* engine) {
      AnySink sink;
      engine->Propose(graph, node, target_, sink);
      return sink.any();
    });
  }

  bool Note(const Node& node, std::string_view reason) const {
    if (context_.remarks != nullptr) {
      context_.remarks->push_back({"decompose", Where(node), std::string(reason)});
    }
    return false;
  }

  const PassContext& context_;
  const Target& target_;
  const OnnxFunctions& functions_;
  InferAndFold infer_and_fold_;
};

class DecomposePass final : public Pass {
 public:
  std::string_view name() const override { return "decompose"; }
  absl::StatusOr<bool> Run(Graph& graph, PassContext& context) override {
    if (context.target == nullptr || context.functions == nullptr) return false;
    return Decomposer(context).Run(graph);
  }
};

}  // namespace

std::unique_ptr<Pass> Decompose() { return std::make_unique<DecomposePass>(); }

}  // namespace onnx_cudnn
