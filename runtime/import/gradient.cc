#include "runtime/import/gradient.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/import/check_node.h"
#include "runtime/import/gradient_rules.h"
#include "runtime/import/upgrade.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

using Names = std::vector<std::string>;

Names NamesOf(const NodeSpec& spec, std::string_view attribute) {
  const Names* names = spec.attrs.Get<Names>(attribute);
  return names == nullptr ? Names() : *names;
}

// Integers and booleans, such as shapes and conditions, have gradient 0.
bool MayHaveSlope(const Value& value) {
  constexpr DTypeSet kSteps =
      kIntegerTypes | DTypeSet{DType::kBool, DType::kU4, DType::kI4, DType::kU2, DType::kI2};
  return !kSteps.Has(value.dtype());
}

class Differentiation {
 public:
  Differentiation(Graph& graph, ShapeInference& inference, int64_t& budget)
      : graph_(graph), inference_(inference), back_(graph, inference), budget_(budget) {}

  // Replaces `named` by `given` from here on, through an Identity that distinguishes it from other
  // uses of the same Value.
  absl::Status SetVariable(const Value& named, Value& given, bool is_wanted) {
    if (!variables_.insert(&named).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("xs and zs name \"", named.name(), "\" twice"));
    }
    Value& variable = back_.Op("Identity", {&given});
    copies_[&named] = &variable;
    if (is_wanted) {
      back_.Want(variable);
      wanted_.push_back(&variable);
    }
    return back_.status();
  }

  // Copies the Nodes that compute `y`, and differentiates them.
  absl::Status Run(const Value& y) {
    ASSIGN_OR_RETURN(const std::vector<const Node*> nodes, NodesBefore(y));
    for (const Node* node : nodes) RETURN_IF_ERROR(Copy(*node));
    auto copy = copies_.find(&y);
    if (copy == copies_.end()) return back_.status();  // y depends on none of them
    back_.Give(*copy->second, back_.Filled(1, *copy->second));
    for (auto node = path_.rbegin(); node != path_.rend(); ++node) RETURN_IF_ERROR(GoBack(**node));
    return back_.status();
  }

  // The gradient of the wanted variable `i`.
  absl::StatusOr<Value*> Gradient(size_t i) {
    Value* gradient = back_.GradientOf(*wanted_[i]);
    if (gradient == nullptr) gradient = &back_.Filled(0, *wanted_[i]);
    RETURN_IF_ERROR(back_.status());
    return gradient;
  }

 private:
  absl::Status Spend(int64_t nodes) {
    budget_ -= nodes;
    if (budget_ >= 0) return absl::OkStatus();
    return absl::UnimplementedError("the model's gradients take more nodes than the limit");
  }

  // The Nodes that compute `y` from variables and constants, producers first.
  absl::StatusOr<std::vector<const Node*>> NodesBefore(const Value& y) {
    std::vector<const Node*> nodes;
    absl::flat_hash_set<const Node*> seen;
    std::vector<const Value*> open = {&y};
    while (!open.empty()) {
      const Value* value = open.back();
      open.pop_back();
      const Node* producer = value->producer();
      if (producer == nullptr || variables_.contains(value)) continue;
      if (!seen.insert(producer).second) continue;
      RETURN_IF_ERROR(Spend(1));
      nodes.push_back(producer);
      for (const Value* input : producer->inputs()) {
        if (input != nullptr) open.push_back(input);
      }
    }
    std::sort(nodes.begin(), nodes.end(),  // the importer adds producers first
              [](const Node* a, const Node* b) { return a->id() < b->id(); });
    return nodes;
  }

  // A Node that does not depend on a variable is not copied.
  absl::Status Copy(const Node& node) {
    NodeSpec spec{.op = node.op(), .attrs = node.attrs(), .outputs = {}, .name = node.name()};
    bool depends = false, is_wanted = false;
    for (Value* input : node.inputs()) {
      auto copy = copies_.find(input);
      spec.inputs.push_back(copy == copies_.end() ? input : copy->second);
      if (copy == copies_.end()) continue;
      depends = true;
      is_wanted = is_wanted || back_.Wants(*copy->second);
    }
    if (!depends) return absl::OkStatus();
    if (!node.bodies().empty() || !node.domain().empty()) {
      return absl::UnimplementedError(
          absl::StrCat(FormOf(node), ": its gradient is not implemented"));
    }
    for (const Value* output : node.outputs()) spec.outputs.push_back(output == nullptr ? "" : "*");
    ASSIGN_OR_RETURN(const std::vector<Value*> outputs,
                     AppendNode(graph_, inference_, std::move(spec)));
    const Node* copied = nullptr;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == nullptr) continue;
      if (!variables_.contains(node.outputs()[i])) copies_[node.outputs()[i]] = outputs[i];
      if (is_wanted && MayHaveSlope(*outputs[i])) back_.Want(*outputs[i]);
      copied = outputs[i]->producer();
    }
    if (copied != nullptr) path_.push_back(copied);
    return absl::OkStatus();
  }

  absl::Status GoBack(const Node& node) {
    for (size_t i = 1; i < node.outputs().size(); ++i) {
      const Value* output = node.outputs()[i];
      if (output == nullptr || back_.GradientOf(*output) == nullptr) continue;
      return absl::UnimplementedError(
          absl::StrCat(FormOf(node), ": the gradient of its output ", i, " is not implemented"));
    }
    Value* dy = node.has_output(0) ? back_.GradientOf(node.output(0)) : nullptr;
    const bool leads_on = std::any_of(node.inputs().begin(), node.inputs().end(),
                                      [&](Value* v) { return v != nullptr && back_.Wants(*v); });
    if (dy == nullptr || !leads_on) return absl::OkStatus();
    const int nodes_before = graph_.node_ids();
    GoBackThrough(back_, node, *dy);
    RETURN_IF_ERROR(back_.status());
    return Spend(graph_.node_ids() - nodes_before);
  }

  Graph& graph_;
  ShapeInference& inference_;
  Backward back_;
  int64_t& budget_;
  absl::flat_hash_set<const Value*> variables_;  // by their names
  // Of variables, and of Values that depend on them.
  absl::flat_hash_map<const Value*, Value*> copies_;
  std::vector<Value*> wanted_;
  std::vector<const Node*> path_;  // the copies, in topological order
};

absl::Status CheckOperands(const NodeSpec& spec, size_t xs, size_t zs) {
  if (spec.inputs.size() != xs + zs) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", spec.inputs.size(), " inputs, xs and zs name ", xs + zs));
  }
  if (absl::c_linear_search(spec.inputs, nullptr))
    return absl::InvalidArgumentError("an input is missing");
  if (spec.outputs.size() <= xs) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("has ", spec.outputs.size(), " outputs, xs names ", xs));
}

}  // namespace

bool IsGradient(const onnx::NodeProto& node) {
  return node.op_type() == "Gradient" && node.domain() == "ai.onnx.preview.training";
}

std::vector<std::string_view> NamesIn(const onnx::NodeProto& gradient) {
  std::vector<std::string_view> names;
  for (const onnx::AttributeProto& attribute : gradient.attribute()) {
    names.insert(names.end(), attribute.strings().begin(), attribute.strings().end());
    if (attribute.has_s()) names.push_back(attribute.s());
  }
  return names;
}

absl::StatusOr<std::vector<Value*>> AppendGradient(
    Graph& graph, ShapeInference& inference, const NodeSpec& spec,
    absl::FunctionRef<Value&(std::string_view name)> find, int64_t& budget) {
  RETURN_IF_ERROR(CheckNode(spec));
  Names variables = NamesOf(spec, "xs");
  const size_t xs = variables.size();
  for (std::string& name : NamesOf(spec, "zs")) variables.push_back(std::move(name));
  RETURN_IF_ERROR(CheckOperands(spec, xs, variables.size() - xs));
  const std::string y_name = spec.attrs.String("y", "");
  if (y_name.empty() || absl::c_linear_search(variables, ""))
    return absl::InvalidArgumentError("xs, zs or y holds an empty name");
  const Value& y = find(y_name);
  if (!kFloatTypes.Has(y.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("y is ", ToString(y.type()), ", expected a tensor of floats"));
  }
  Differentiation differentiation(graph, inference, budget);
  for (size_t i = 0; i < variables.size(); ++i) {
    RETURN_IF_ERROR(differentiation.SetVariable(find(variables[i]), *spec.inputs[i], i < xs));
  }
  RETURN_IF_ERROR(differentiation.Run(y));
  std::vector<Value*> outputs(spec.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (spec.outputs[i].empty()) continue;
    ASSIGN_OR_RETURN(outputs[i], differentiation.Gradient(i));
  }
  return outputs;
}

}  // namespace onnx_cudnn
