#include "runtime/import/functions.h"

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph.h"
#include "runtime/import/check_model.h"
#include "runtime/import/function_table.h"

namespace onnx_cudnn {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Moves nodes without changing their addresses.
void MoveNodes(Nodes& from, Nodes& to) {
  std::vector<onnx::NodeProto*> nodes(from.size());
  from.ExtractSubrange(0, from.size(), nodes.data());
  for (onnx::NodeProto* node : nodes) to.AddAllocated(node);
}

// Calls `visit` with every graph in the node's attributes.
absl::Status ForEachBody(onnx::NodeProto& node, auto visit) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) RETURN_IF_ERROR(visit(*attribute.mutable_g()));
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) RETURN_IF_ERROR(visit(graph));
  }
  return absl::OkStatus();
}

// The names that the model uses, and generates new ones.
class Names {
 public:
  void Collect(onnx::GraphProto& graph) {
    for (const auto& input : graph.input()) taken_.insert(input.name());
    for (const auto& initializer : graph.initializer()) taken_.insert(initializer.name());
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      taken_.insert(node.output().begin(), node.output().end());
      ForEachBody(node, [&](onnx::GraphProto& body) {
        Collect(body);
        return absl::OkStatus();
      }).IgnoreError();
    }
  }
  std::string New(std::string_view function, std::string_view name) {
    std::string result;
    do {
      result = absl::StrCat(function, ".", serial_++, ".", name);
    } while (!taken_.insert(result).second);
    return result;
  }

 private:
  std::unordered_set<std::string> taken_;
  int64_t serial_ = 0;
};

// The nodes of one function for one call, with the caller's names and resolved attributes.
class Instance {
 public:
  Instance(const onnx::FunctionProto& function, const onnx::NodeProto& call, Names& names)
      : function_(function), call_(call), names_(names) {}

  absl::StatusOr<Nodes> Build() {
    RETURN_IF_ERROR(BindParameters());
    Nodes nodes = function_.node();
    RETURN_IF_ERROR(DefineOutputs(nodes, scope_));
    for (onnx::NodeProto& node : nodes) RETURN_IF_ERROR(Rewrite(node, scope_));
    return nodes;
  }

  // To be called after Build: an output that is an input, or a second name of one Value, needs an
  // extra node.
  absl::StatusOr<Nodes> Identities() {
    Nodes nodes;
    for (int i = 0; i < call_.output_size(); ++i) {
      if (call_.output(i).empty()) continue;
      std::string source = function_.output(i);
      RETURN_IF_ERROR(Rename(source, scope_));
      if (source == call_.output(i)) continue;
      onnx::NodeProto* identity = nodes.Add();
      identity->set_op_type("Identity");
      identity->add_input(source);
      identity->add_output(call_.output(i));
    }
    return nodes;
  }

 private:
  using Scope =
      std::unordered_map<std::string, std::string>;  // maps the function's names to the caller's

  absl::Status BindParameters() {
    if (call_.input_size() > function_.input_size() ||
        call_.output_size() > function_.output_size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the call has ", call_.input_size(), " inputs and ", call_.output_size(),
          " outputs, the function ", function_.input_size(), " and ", function_.output_size()));
    }
    for (int i = 0; i < function_.input_size(); ++i) {
      const std::string given = i < call_.input_size() ? call_.input(i) : "";
      if (!scope_.emplace(function_.input(i), given).second) {
        return absl::InvalidArgumentError("the function has two inputs of one name");
      }
    }
    for (int i = 0; i < call_.output_size(); ++i) {
      if (!call_.output(i).empty()) results_.emplace(function_.output(i), call_.output(i));
    }
    for (const onnx::AttributeProto& attribute : call_.attribute()) {
      if (attribute.has_g() || attribute.graphs_size() > 0) {
        return absl::UnimplementedError(
            absl::StrCat("attribute \"", attribute.name(), "\" gives a function a graph"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Define(const std::string& name, Scope& scope) {
    if (name.empty()) return absl::OkStatus();
    auto result = &scope == &scope_ ? results_.find(name) : results_.end();
    std::string outer =
        result == results_.end() ? names_.New(function_.name(), name) : result->second;
    if (scope.insert({name, std::move(outer)}).second) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" is defined twice in the function"));
  }

  absl::Status DefineOutputs(const Nodes& nodes, Scope& scope) {
    for (const onnx::NodeProto& node : nodes) {
      for (const std::string& name : node.output()) RETURN_IF_ERROR(Define(name, scope));
    }
    return absl::OkStatus();
  }

  // Names of a body hide equal outer names.
  absl::Status DefineHiding(const std::string& name, Scope& scope,
                            std::unordered_set<std::string>& own) {
    if (!own.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is defined twice in a body"));
    }
    scope.erase(name);
    return Define(name, scope);
  }

  absl::Status Rename(std::string& name, const Scope& scope) {
    if (name.empty()) return absl::OkStatus();
    auto it = scope.find(name);
    if (it == scope.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the function reads \"", name, "\", which nothing defines"));
    }
    name = it->second;
    return absl::OkStatus();
  }

  absl::Status Rewrite(onnx::NodeProto& node, const Scope& scope) {
    if (!node.name().empty()) node.set_name(absl::StrCat(function_.name(), ".", node.name()));
    for (std::string& name : *node.mutable_input()) RETURN_IF_ERROR(Rename(name, scope));
    for (std::string& name : *node.mutable_output()) RETURN_IF_ERROR(Rename(name, scope));
    ResolveAttributes(*node.mutable_attribute());
    return ForEachBody(node, [&](onnx::GraphProto& body) { return RewriteBody(body, scope); });
  }

  absl::Status RewriteBody(onnx::GraphProto& body, Scope scope) {
    std::unordered_set<std::string> own;
    for (const auto& input : body.input()) RETURN_IF_ERROR(DefineHiding(input.name(), scope, own));
    for (const auto& tensor : body.initializer()) {
      if (!own.contains(tensor.name())) RETURN_IF_ERROR(DefineHiding(tensor.name(), scope, own));
    }
    for (const onnx::NodeProto& node : body.node()) {
      for (const std::string& name : node.output()) {
        if (!name.empty()) RETURN_IF_ERROR(DefineHiding(name, scope, own));
      }
    }
    body.clear_value_info();
    body.clear_quantization_annotation();
    for (auto& input : *body.mutable_input()) RETURN_IF_ERROR(Rename(*input.mutable_name(), scope));
    for (auto& tensor : *body.mutable_initializer()) {
      RETURN_IF_ERROR(Rename(*tensor.mutable_name(), scope));
    }
    for (onnx::NodeProto& node : *body.mutable_node()) RETURN_IF_ERROR(Rewrite(node, scope));
    for (auto& output : *body.mutable_output())
      RETURN_IF_ERROR(Rename(*output.mutable_name(), scope));
    return absl::OkStatus();
  }

  const onnx::AttributeProto* Argument(const std::string& name) const {
    for (const onnx::AttributeProto& given : call_.attribute()) {
      if (given.name() == name) return &given;
    }
    for (const onnx::AttributeProto& preset : function_.attribute_proto()) {
      if (preset.name() == name) return &preset;
    }
    return nullptr;
  }

  void ResolveAttributes(google::protobuf::RepeatedPtrField<onnx::AttributeProto>& attributes) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> resolved;
    for (onnx::AttributeProto& attribute : attributes) {
      if (attribute.ref_attr_name().empty()) {
        *resolved.Add() = std::move(attribute);
      } else if (const onnx::AttributeProto* argument = Argument(attribute.ref_attr_name())) {
        *resolved.Add() = *argument;
        resolved.rbegin()->set_name(attribute.name());
      }
    }
    attributes.Swap(&resolved);
  }

  const onnx::FunctionProto& function_;
  const onnx::NodeProto& call_;
  Names& names_;
  Scope scope_;
  Scope results_;
};

// The opsets that apply to a node; nullptr: those of the model.
using Source = const Opsets*;

class Inliner {
 public:
  Inliner(const FunctionTable& functions, Opsets model_opsets, Names names)
      : functions_(functions), model_opsets_(std::move(model_opsets)), names_(std::move(names)) {}

  absl::Status Expand(Nodes& nodes, Source source) {
    std::vector<onnx::NodeProto*> old(nodes.size());
    nodes.ExtractSubrange(0, nodes.size(), old.data());
    std::vector<std::unique_ptr<onnx::NodeProto>> owned(old.begin(), old.end());
    for (std::unique_ptr<onnx::NodeProto>& node : owned) {
      RETURN_IF_ERROR(ExpandNode(std::move(node), source, nodes));
    }
    return absl::OkStatus();
  }

  NodeOpsets TakeOpsets() { return std::move(node_opsets_); }

 private:
  absl::Status ExpandNode(std::unique_ptr<onnx::NodeProto> node, Source source, Nodes& out) {
    const onnx::FunctionProto* callee = functions_.Callee(*node);
    if (callee != nullptr) {
      return Annotate(ExpandCall(*node, *callee, out),
                      absl::StrCat("function \"", callee->name(), "\""));
    }
    if (source != nullptr) RETURN_IF_ERROR(NoteOpset(*node, *source));
    RETURN_IF_ERROR(ForEachBody(
        *node, [&](onnx::GraphProto& body) { return Expand(*body.mutable_node(), source); }));
    out.AddAllocated(node.release());
    return absl::OkStatus();
  }

  absl::Status ExpandCall(const onnx::NodeProto& call, const onnx::FunctionProto& callee,
                          Nodes& out) {
    Instance instance(callee, call, names_);
    ASSIGN_OR_RETURN(Nodes nodes, instance.Build());
    ASSIGN_OR_RETURN(const Opsets opsets, ReadOpsets(callee.opset_import()));
    RETURN_IF_ERROR(Expand(nodes, &opsets));
    MoveNodes(nodes, out);
    ASSIGN_OR_RETURN(Nodes identities, instance.Identities());
    for (const onnx::NodeProto& node : identities) node_opsets_[&node] = kNewestOpset;
    MoveNodes(identities, out);
    return absl::OkStatus();
  }

  absl::Status NoteOpset(const onnx::NodeProto& node, const Opsets& source) {
    const std::string domain(DomainOf(node));
    auto own = source.find(domain);
    if (own == source.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("it imports no opset of domain \"", domain, "\""));
    }
    auto model = model_opsets_.find(domain);
    if (model == model_opsets_.end() || model->second != own->second) {
      node_opsets_[&node] = own->second;
    }
    return absl::OkStatus();
  }

  const FunctionTable& functions_;
  const Opsets model_opsets_;
  Names names_;
  NodeOpsets node_opsets_;
};

}  // namespace

absl::StatusOr<NodeOpsets> InlineLocalFunctions(onnx::ModelProto& model, const Limits& limits) {
  if (model.functions_size() == 0) return NodeOpsets();
  ASSIGN_OR_RETURN(FunctionTable functions, FunctionTable::Create(model, limits));
  RETURN_IF_ERROR(functions.CheckExpansion(model.graph()));
  ASSIGN_OR_RETURN(Opsets opsets, ReadOpsets(model.opset_import()));
  Names names;
  names.Collect(*model.mutable_graph());
  Inliner inliner(functions, std::move(opsets), std::move(names));
  RETURN_IF_ERROR(inliner.Expand(*model.mutable_graph()->mutable_node(), nullptr));
  model.clear_functions();
  return inliner.TakeOpsets();
}

}  // namespace onnx_cudnn
