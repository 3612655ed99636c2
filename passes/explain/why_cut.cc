#include "passes/explain/why_cut.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/explain/edges.h"
#include "runtime/graph/deciding_inputs.h"
#include "runtime/ops/bounded.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/strings.h"

namespace onnx_cudnn {
namespace {

using Values = std::vector<const Value*>;

std::string Named(const Values& values) {
  return absl::StrJoin(values, " and ", [](std::string* out, const Value* v) {
    absl::StrAppend(out, "\"", v->name(), "\" ", ToString(v->type()));
  });
}

// The inputs of `node` that are no constants.
Values ComputedInputs(const Node& node) {
  Values values;
  for (const Value* v : node.inputs()) {
    if (v != nullptr && !v->is_constant()) values.push_back(v);
  }
  return values;
}

// As Where, with the first output's name where the Node has none.
std::string Called(const Node& node) {
  return absl::StrCat("node \"", NameOf(node), "\" (", node.op(), ")");
}

// Whether a Program would run an If if its price allowed: its inputs are there before.
bool IsCutByPrice(const GraphCut& cut, const GraphCut::Part& part) {
  const Node& node = *part.graph.TopologicalOrder().front();
  const bool is_open = std::any_of(node.outputs().begin(), node.outputs().end(),
                                   [](const Value* v) { return v != nullptr && !v->is_static(); });
  if (node.op() != "If" || is_open || !CheckOp(node)) return false;
  return std::none_of(part.inputs.begin(), part.inputs.end(), [&](int slot) {
    return std::any_of(cut.nodes.begin(), cut.nodes.end(), [&](const GraphCut::Part& other) {
      return std::count(other.outputs.begin(), other.outputs.end(), slot) > 0;
    });
  });
}

std::string WhyBetween(const GraphCut& cut, const GraphCut::Part& part) {
  if (IsCutByPrice(cut, part)) return "its bodies run faster as programs of their own";
  const Node& node = *part.graph.TopologicalOrder().front();
  if (node.op() == "Loop") {  // also a Scan that is cut by its price
    return "how often its body runs may depend on data, or it runs faster as a program of its own";
  }
  if (!node.bodies().empty()) return "which of its bodies run, and how often, may depend on data";
  if (TouchesStrings(node)) return "strings are on the host";
  const OpDef* op = FindOp(node);
  if (op != nullptr && op->reference == nullptr && op->evaluate != nullptr) {
    return absl::StrCat("the shapes of its outputs follow from the elements of ",
                        Named(ComputedInputs(node)));
  }
  return "it takes or gives a sequence, an optional or a map";
}

// What a Node waits for of which all inputs come from the parts before.
std::string WhatItNeeds(Graph& graph, Node& node) {
  const Values inputs = ComputedInputs(node);
  if (const Values deciders = UnknownDeciders(graph, node); !deciders.empty()) {
    return absl::StrCat("needs the elements of ", Named(deciders));
  }
  Values open;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(open),
               [](const Value* v) { return !v->is_static(); });
  if (!open.empty()) return absl::StrCat("needs the shape of ", Named(open));
  return absl::StrCat("needs ", Named(inputs), ", computed between programs");
}

}  // namespace

std::vector<std::string> WhyCut(GraphCut& cut) {
  std::vector<std::string> reasons;
  for (const GraphCut::Part& part : cut.nodes) {
    const Node& node = *part.graph.TopologicalOrder().front();
    if (IsFirstElements(node)) {
      reasons.push_back(absl::StrCat("the shape of \"", node.output(0).name(),
                                     "\" follows from a count that the program writes"));
      continue;
    }
    reasons.push_back(
        absl::StrCat(Called(node), " runs between programs: ", WhyBetween(cut, part)));
  }
  for (Node* node : cut.rest.graph.TopologicalOrder()) {
    const Values inputs = ComputedInputs(*node);
    const bool is_first = std::all_of(inputs.begin(), inputs.end(),
                                      [](const Value* v) { return v->producer() == nullptr; });
    if (!is_first) continue;
    reasons.push_back(absl::StrCat(Called(*node), " ", WhatItNeeds(cut.rest.graph, *node)));
  }
  return reasons;
}

}  // namespace onnx_cudnn
