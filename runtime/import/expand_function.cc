// The function is imported as a model that defines it and calls it once: import inlines it,
// resolves its attributes and upgrades its nodes from the function's opset.
#include "runtime/import/expand_function.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/defs/function.h"
#include "runtime/base/exception.h"
#include "runtime/base/status.h"
#include "runtime/graph/onnx_schemas.h"
#include "runtime/graph/onnx_types.h"
#include "runtime/import/import_model.h"
#include "runtime/import/names.h"
#include "runtime/import/own_functions.h"

namespace onnx_cudnn {
namespace {

using onnx::FunctionProto;
using onnx::NodeProto;
using onnx::OpSchema;

// A separate domain, because a body may call its own op.
constexpr char kCallDomain[] = "onnx_cudnn.function";

const OpSchema* SchemaOf(const Node& node) {
  return FindSchema(node.op(), node.opset(), node.domain());
}

absl::Status CheckCall(const Node& node) {
  if (!node.bodies().empty()) return absl::UnimplementedError("its function takes a graph");
  for (const Value* v : node.inputs()) {
    if (v == nullptr || v->type().is_tensor()) continue;
    return absl::UnimplementedError(
        absl::StrCat("its function takes ", ToString(v->type()), ", only tensors are taken"));
  }
  return absl::OkStatus();
}

NodeProto CallOf(const Node& node) {
  NodeProto call;
  call.set_op_type(node.op());
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    call.add_input(node.inputs()[i] == nullptr ? "" : absl::StrCat("input.", i));
  }
  for (const Value* v : node.outputs()) call.add_output(v == nullptr ? "" : v->name());
  for (const auto& [name, value] : node.attrs()) *call.add_attribute() = ToProto(name, value);
  return call;
}

// The type of an absent input is empty.
std::vector<onnx::TypeProto> InputTypes(const Node& node) {
  std::vector<onnx::TypeProto> types;
  for (const Value* v : node.inputs()) {
    types.push_back(v == nullptr ? onnx::TypeProto() : ToProto(v->type()));
  }
  return types;
}

// Uses the function's own opset: for a newer one the builder returns the same nodes labelled as
// newer.
absl::StatusOr<FunctionProto> BuildFunction(const OpSchema& schema, const Node& node,
                                            const NodeProto& call) {
  ASSIGN_OR_RETURN(std::optional<FunctionProto> own, OwnFunction(node));
  if (own.has_value()) return *std::move(own);
  if (const FunctionProto* plain = schema.GetFunction(node.opset())) return *plain;
  const std::vector<int> opsets = schema.context_dependent_function_opset_versions();
  const auto above = std::upper_bound(opsets.begin(), opsets.end(), node.opset());
  const onnx::FunctionBodyBuildContextImpl context(call, InputTypes(node));
  FunctionProto built;
  if (above == opsets.begin() ||
      !schema.BuildContextDependentFunction(context, built, *std::prev(above))) {
    return absl::UnimplementedError("its function has no body for these types and attributes");
  }
  return built;
}

// ONNX's function for CenterCropPad combines its `shape`, which may be i32, with i64.
void WidenShape(const Node& node, FunctionProto& function) {
  if (node.op() != "CenterCropPad" || node.input(1).dtype() != DType::kI32) return;
  const std::string shape = function.input(1);
  function.set_input(1, absl::StrCat(shape, ".narrow"));
  NodeProto& cast = *function.add_node();
  cast.set_op_type("Cast");
  cast.add_input(function.input(1));
  cast.add_output(shape);
  *cast.add_attribute() = ToProto("to", static_cast<int64_t>(DType::kI64));
  for (int i = function.node_size() - 1; i > 0; --i) {
    function.mutable_node()->SwapElements(i, i - 1);
  }
}

void AddDefaults(const OpSchema& schema, const Node& node, NodeProto& call) {
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.default_value.type() == onnx::AttributeProto::UNDEFINED) continue;
    if (node.attrs().Has(name)) continue;
    *call.add_attribute() = attribute.default_value;
    call.mutable_attribute()->rbegin()->set_name(name);
  }
}

onnx::ModelProto ModelOf(const Node& node, NodeProto call, FunctionProto function) {
  function.set_domain(kCallDomain);
  function.set_name(node.name().empty() ? node.op() : node.name());
  for (NodeProto& inner : *function.mutable_node()) inner.set_name(inner.op_type());
  call.set_domain(kCallDomain);
  call.set_op_type(function.name());

  onnx::ModelProto model;
  model.set_ir_version(onnx::IR_VERSION);
  model.add_opset_import()->set_version(kNewestOpset);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(function.name());
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    if (node.inputs()[i] == nullptr) continue;
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(call.input(static_cast<int>(i)));
    *input.mutable_type() = ToProto(node.inputs()[i]->type());
  }
  for (const std::string& name : call.output()) {
    if (!name.empty()) graph.add_output()->set_name(name);
  }
  *graph.add_node() = std::move(call);
  *model.add_functions() = std::move(function);
  return model;
}

absl::StatusOr<Graph> Expand(const Node& node) {
  RETURN_IF_ERROR(CheckCall(node));
  const OpSchema& schema = *SchemaOf(node);
  NodeProto call = CallOf(node);
  ASSIGN_OR_RETURN(FunctionProto function, BuildFunction(schema, node, call));
  WidenShape(node, function);
  AddDefaults(schema, node, call);
  return ImportModel(ModelOf(node, std::move(call), std::move(function)), {});
}

}  // namespace

bool HasFunctionBody(const Node& node) {
  const OpSchema* schema = SchemaOf(node);
  return schema != nullptr && (schema->HasFunction() || schema->HasContextDependentFunction());
}

absl::StatusOr<Graph> ExpandFunction(const Node& node) {
  try {
    return Expand(node);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory left to expand its function", LimitOfProcess()));
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(Clean(e.what()));
  }
}

}  // namespace onnx_cudnn
