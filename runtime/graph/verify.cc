#include "runtime/graph/verify.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

absl::Status Broken(const auto&... words) { return absl::InternalError(absl::StrCat(words...)); }

bool Typed(const Value* v) { return v == nullptr || v->type().kind != Type::Kind::kUnknown; }

// Inference types the first output of every ONNX op whose input types are known.
bool FirstOutputMustHaveType(const Node& node) {
  return (node.domain().empty() || node.domain() == kOwnDomain) &&
         std::all_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value* v) { return v == nullptr || v->type().is_known(); });
}

absl::Status CheckBody(const Node& node, const Graph& body) {
  const size_t captures = node.captures();
  if (captures > node.inputs().size() || captures > body.inputs().size()) {
    return Broken("it has ", body.inputs().size(), " inputs, its node ", node.inputs().size(),
                  " with ", captures, " captures");
  }
  if (node.op() == "If" && body.inputs().size() != captures) {
    return Broken("it has ", body.inputs().size(), " inputs for ", captures, " captures");
  }
  for (size_t i = 0; i < captures; ++i) {
    const Value* given = node.inputs()[node.inputs().size() - captures + i];
    const Value* taken = body.inputs()[body.inputs().size() - captures + i];
    if (given == nullptr) return Broken("capture ", i, " is absent");
    if (Typed(given) && Typed(taken) && given->dtype() != taken->dtype()) {
      return Broken("captured input \"", taken->name(), "\" is ", ToString(taken->type()),
                    ", its node gives ", ToString(given->type()));
    }
  }
  return Verify(body);
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), order_(graph.TopologicalOrder()) {
    for (const Value* v : graph.Values()) values_.insert(v);
    nodes_.insert(order_.begin(), order_.end());
  }

  absl::Status Run() {
    if (static_cast<int>(order_.size()) != graph_.node_count()) return Broken("there is a cycle");
    RETURN_IF_ERROR(CheckInputs());
    RETURN_IF_ERROR(CheckOutputs());
    for (const Value* v : graph_.Values()) {
      if (absl::Status s = CheckValue(*v); !s.ok()) {
        return Annotate(s, absl::StrCat("value \"", v->name(), "\""));
      }
    }
    size_t inputs = 0;
    for (const Node* node : order_) {
      if (absl::Status s = CheckNode(*node); !s.ok()) return Annotate(s, Where(*node));
      inputs +=
          node->inputs().size() - std::count(node->inputs().begin(), node->inputs().end(), nullptr);
    }
    // Every listed use is correct and unique, so equal counts mean that none is missing.
    if (inputs != uses_.size()) {
      return Broken("nodes have ", inputs, " inputs, values list ", uses_.size(), " uses");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckInputs() {
    for (const Value* v : graph_.inputs()) {
      if (!values_.contains(v)) return Broken("an input is a value of another graph");
      if (!v->is_graph_input()) return Broken("input \"", v->name(), "\" does not know it is one");
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputs() {
    absl::flat_hash_set<std::string_view> names;
    for (const auto& [name, value] : graph_.outputs()) {
      if (!values_.contains(value)) return Broken("output \"", name, "\" is of another graph");
      if (!value->is_graph_output()) return Broken("output \"", name, "\" does not know it is one");
      if (!names.insert(name).second) return Broken("two outputs have the name \"", name, "\"");
    }
    return absl::OkStatus();
  }

  absl::Status CheckValue(const Value& v) {
    if (v.name().empty() || !names_.insert(v.name()).second) {
      return Broken("the name is empty or taken");
    }
    const int sources = (v.producer() != nullptr) + v.is_graph_input() + v.is_constant();
    if (sources != 1) return Broken("it has ", sources, " sources instead of one");
    if (v.is_constant() && v.type() != Type::Tensor(v.constant().dtype(), v.constant().dims())) {
      return Broken("the constant is declared ", ToString(v.type()));
    }
    for (const Use& use : v.uses()) {
      if (!nodes_.contains(use.node)) return Broken("it lists a use by a node of another graph");
      const auto inputs = use.node->inputs();
      if (use.index >= static_cast<int>(inputs.size()) || inputs[use.index] != &v ||
          !uses_.insert({use.node, use.index}).second) {
        return Broken("it lists a use that ", Where(*use.node), " does not have");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckNode(const Node& node) {
    for (const Value* v : node.inputs()) {
      if (v != nullptr && !values_.contains(v)) return Broken("an input is of another graph");
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* v = node.outputs()[i];
      if (v == nullptr) continue;
      if (!values_.contains(v) || v->producer() != &node ||
          v->producer_index() != static_cast<int>(i)) {
        return Broken("output ", i, " does not know its producer");
      }
    }
    if (node.has_output(0) && !Typed(&node.output(0)) && FirstOutputMustHaveType(node)) {
      return Broken("output \"", node.output(0).name(), "\" has no type");
    }
    for (const auto& [name, body] : node.bodies()) {
      if (absl::Status s = CheckBody(node, *body); !s.ok()) return Annotate(s, name);
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const std::vector<Node*> order_;
  absl::flat_hash_set<const Value*> values_;
  absl::flat_hash_set<const Node*> nodes_;
  absl::flat_hash_set<std::pair<const Node*, int>> uses_;
  absl::flat_hash_set<std::string_view> names_;
};

}  // namespace

absl::Status Verify(const Graph& graph) { return Verifier(graph).Run(); }

}  // namespace onnx_cudnn
