// The part of GraphImporter that imports nodes.
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/graph/custom_op.h"
#include "runtime/graph/ml_types.h"
#include "runtime/graph/onnx_types.h"
#include "runtime/import/check_types.h"
#include "runtime/import/check_values.h"
#include "runtime/import/contrib.h"
#include "runtime/import/defaults.h"
#include "runtime/import/equation.h"
#include "runtime/import/gradient.h"
#include "runtime/import/graph_importer.h"
#include "runtime/import/import_attribute.h"
#include "runtime/import/names.h"
#include "runtime/import/node_order.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/import/upgrade.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

// Whether `body` of the node is a branch that may never run.
bool MayBeSkipped(const NodeSpec& spec, std::string_view body) {
  if (spec.op != "If") return false;
  const Value* condition = spec.inputs.empty() ? nullptr : spec.inputs[0];
  if (condition == nullptr || !condition->is_constant()) return true;
  const HostTensor& constant = condition->constant();
  if (constant.dtype() != DType::kBool || constant.elements() != 1) return true;
  return (constant.data<uint8_t>()[0] != 0) != (body == "then_branch");
}

}  // namespace

// The names in its attributes refer to the model's own graph.
bool GraphImporter::TakesGradient(const onnx::NodeProto& proto) const {
  return kind_ == Kind::kMain && IsGradient(proto);
}

absl::StatusOr<int> GraphImporter::OpsetOf(const onnx::NodeProto& proto) const {
  const std::string_view domain = DomainOf(proto);
  auto own = model_.node_opsets.find(&proto);
  auto imported = model_.opsets.find(domain);
  if (own == model_.node_opsets.end() && imported == model_.opsets.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model imports no opset of domain ", Quoted(domain)));
  }
  return own == model_.node_opsets.end() ? imported->second : own->second;
}

Support GraphImporter::CheckTaken(const onnx::NodeProto& proto, int opset) const {
  if (TakesGradient(proto)) return Support::Yes();
  if (DomainOf(proto) == kMlDomain) {
    if (opset >= 1 && opset <= kNewestMlOpset) return Support::Yes();
    return Support::No(absl::StrCat("opsets 1 to ", kNewestMlOpset, " are taken"));
  }
  if (!DomainOf(proto).empty()) {
    const CustomOp* custom = FindCustomOp(proto.op_type(), DomainOf(proto));
    if (custom == nullptr) return CheckContrib(DomainOf(proto), proto.op_type(), opset);
    const int since = custom->functions.since_version;
    if (opset >= since) return Support::Yes();
    return Support::No(absl::StrCat(custom->library, " defines it since version ", since));
  }
  if (opset >= kOldestOpset && opset <= kNewestOpset) return Support::Yes();
  return Support::No(absl::StrCat("opsets ", kOldestOpset, " to ", kNewestOpset, " are taken"));
}

absl::Status GraphImporter::ImportNode(onnx::NodeProto& proto,
                                       absl::Span<const std::string_view> captured) {
  if (proto.op_type() == "Constant" && DomainOf(proto).empty()) {
    const absl::StatusOr<int> opset = OpsetOf(proto);
    if (opset.ok() && CheckTaken(proto, *opset)) {
      return Annotate(ImportConstantNode(proto), Where(proto));
    }
  }
  absl::StatusOr<NodeSpec> spec = MakeSpec(proto, captured);
  if (!spec.ok()) return Annotate(spec.status(), Where(proto));
  ASSIGN_OR_RETURN(std::vector<Value*> outputs, Append(proto, *std::move(spec)));
  for (int i = 0; i < proto.output_size(); ++i) {
    const std::string& name = proto.output(i);
    if (name.empty() || (outputs[i] == nullptr && !read_names_.contains(name))) continue;
    RETURN_IF_ERROR(Annotate(TakeOutput(name, outputs[i]), Where(proto)));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::NoteRefusal(const onnx::NodeProto& proto, const absl::Status& why) {
  if (model_.refusals == nullptr || !IsRefusal(why)) return why;
  has_refusals_ = true;
  const absl::StatusOr<int> opset = OpsetOf(proto);
  std::string_view reason = why.message();
  absl::ConsumePrefix(&reason, absl::StrCat(Where(proto), ": "));
  const bool is_named = !proto.name().empty() || proto.output_size() == 0;
  model_.refusals->nodes.push_back({.node = is_named ? proto.name() : proto.output(0),
                                    .domain = std::string(DomainOf(proto)),
                                    .op = proto.op_type(),
                                    .opset = opset.ok() ? *opset : 0,
                                    .why = absl::Status(why.code(), reason)});
  // What it reads is kept alive, so that the nodes before it are checked.
  for (const std::string& name : proto.input()) {
    if (name.empty()) continue;
    Value* const value = names_.at(name).value;
    if (value == nullptr || value->producer() == nullptr) continue;
    const std::string output = graph_.UniqueName(name);
    graph_.AddOutput(output, *value);
    model_.refusals->outputs.insert(output);
  }
  for (const std::string& name : proto.output()) {
    if (name.empty()) continue;
    Type type;
    if (const onnx::ValueInfoProto* info = FindValueInfo(name)) {
      if (absl::StatusOr<Type> declared = FromProto(info->type()); declared.ok()) {
        type = *std::move(declared);
      }
    }
    Value& value = graph_.AddInput(name, std::move(type));
    names_[name].value = &value;
    model_.refusals->inputs.insert(value.name());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value*>> GraphImporter::Append(const onnx::NodeProto& proto,
                                                          NodeSpec spec) {
  if (IsContrib(spec.domain, spec.op) || IsReplaced(spec)) {
    auto outputs = AppendContrib(graph_, inference_, std::move(spec));
    return outputs.ok() ? std::move(outputs) : Annotate(outputs.status(), Where(proto));
  }
  if (!spec.domain.empty() && spec.domain != kMlDomain)
    return AppendCustomNode(graph_, inference_, std::move(spec));
  if (!TakesGradient(proto)) return AppendNode(graph_, inference_, std::move(spec));
  spec.domain = proto.domain();
  const auto find = [this](std::string_view name) -> Value& { return Lookup(name); };
  auto outputs = AppendGradient(graph_, inference_, spec, find, gradient_budget_);
  if (!outputs.ok()) return Annotate(outputs.status(), Where(proto));
  return outputs;
}

absl::Status GraphImporter::ImportConstantNode(onnx::NodeProto& proto) {
  if (proto.input_size() != 0 || proto.output_size() != 1 || proto.output(0).empty()) {
    return absl::InvalidArgumentError("a Constant has no input and one output");
  }
  if (proto.attribute_size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", proto.attribute_size(), " attributes, a Constant has one"));
  }
  onnx::AttributeProto& value = *proto.mutable_attribute(0);
  absl::StatusOr<HostTensor> tensor = ImportConstant(std::move(value), model_.tensors);
  if (!tensor.ok()) {
    return Annotate(tensor.status(), absl::StrCat("attribute ", Quoted(value.name())));
  }
  names_[proto.output(0)].constant = *std::move(tensor);
  return absl::OkStatus();
}

absl::StatusOr<NodeSpec> GraphImporter::MakeSpec(onnx::NodeProto& proto,
                                                 absl::Span<const std::string_view> captured) {
  NodeSpec spec{.op = proto.op_type(), .outputs = {}, .name = proto.name()};
  ASSIGN_OR_RETURN(spec.opset, OpsetOf(proto));
  spec.file_opset = spec.opset;
  for (const std::string& name : proto.input()) {
    spec.inputs.push_back(name.empty() ? nullptr : &Lookup(name));
  }
  if (Support taken = CheckTaken(proto, spec.opset); !taken) {
    return absl::UnimplementedError(
        absl::StrCat(FormOf(Short(DomainOf(proto)), Short(spec.op), spec.opset, spec.inputs), ": ",
                     taken.reason()));
  }
  spec.outputs.assign(proto.output().begin(), proto.output().end());
  if (DomainOf(proto) == kMlDomain) {
    spec.domain = kMlDomain;
  } else if (!DomainOf(proto).empty() && !TakesGradient(proto)) {
    return MakeCustomSpec(proto, captured, std::move(spec));
  }
  DropSavedMoments(spec);
  RETURN_IF_ERROR(ImportAttributes(proto, spec));
  RETURN_IF_ERROR(CheckLeast(spec));
  if (kind_ != Kind::kBranch) RETURN_IF_ERROR(CheckFits(spec));
  RETURN_IF_ERROR(CheckTypes(spec));
  RETURN_IF_ERROR(NormalizeEquation(spec));
  StateDefaults(spec);
  RETURN_IF_ERROR(ImportBodies(proto, captured, spec));
  return spec;
}

// Nothing is known about the op but what its library or its expansion says.
absl::StatusOr<NodeSpec> GraphImporter::MakeCustomSpec(onnx::NodeProto& proto,
                                                       absl::Span<const std::string_view> captured,
                                                       NodeSpec spec) {
  spec.domain = DomainOf(proto);
  RETURN_IF_ERROR(ImportAttributes(proto, spec));
  if (IsContrib(spec.domain, spec.op)) {
    RETURN_IF_ERROR(ImportBodies(proto, captured, spec));
    return spec;
  }
  for (const onnx::AttributeProto& attribute : proto.attribute()) {
    if (!attribute.has_g()) continue;
    return absl::UnimplementedError(absl::StrCat(
        "attribute ", Quoted(attribute.name()), " is a graph, which ops of libraries cannot have"));
  }
  return spec;
}

// Exporters name these outputs of every BatchNormalization in training mode before opset 14; the
// newest form lacks them.
void GraphImporter::DropSavedMoments(NodeSpec& spec) const {
  if (spec.op != "BatchNormalization") return;
  for (size_t i = 3; i < spec.outputs.size(); ++i) {
    if (!read_names_.contains(spec.outputs[i])) spec.outputs[i].clear();
  }
}

absl::Status GraphImporter::ImportAttributes(onnx::NodeProto& proto, NodeSpec& spec) {
  absl::flat_hash_set<std::string_view> seen;
  for (onnx::AttributeProto& attribute : *proto.mutable_attribute()) {
    const std::string where = absl::StrCat("attribute ", Quoted(attribute.name()));
    if (!seen.insert(attribute.name()).second) {
      return absl::InvalidArgumentError(absl::StrCat(where, " is given twice"));
    }
    if (attribute.type() == onnx::AttributeProto::GRAPH) {
      RETURN_IF_ERROR(Annotate(CheckGraphAttribute(attribute), where));
      continue;
    }
    absl::StatusOr<Attribute> value = ImportAttribute(std::move(attribute), model_.tensors);
    if (!value.ok()) return Annotate(value.status(), where);
    spec.attrs.Set(attribute.name(), *std::move(value));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportBodies(onnx::NodeProto& proto,
                                         absl::Span<const std::string_view> captured,
                                         NodeSpec& spec) {
  std::vector<std::string_view> values, constants;
  for (std::string_view name : captured) {
    const Definition& definition = names_.at(name);
    const bool is_value = definition.value != nullptr && !definition.value->is_constant();
    (is_value ? values : constants).push_back(name);
  }
  absl::Status refused;
  for (onnx::AttributeProto& attribute : *proto.mutable_attribute()) {
    if (!attribute.has_g()) continue;
    auto body = std::make_unique<Graph>();
    const bool skippable = kind_ == Kind::kBranch || MayBeSkipped(spec, attribute.name());
    GraphImporter importer(skippable ? Kind::kBranch : Kind::kBody, model_, *attribute.mutable_g(),
                           *body);
    for (std::string_view name : values) importer.AddCapture(name, Lookup(name).type());
    for (std::string_view name : constants) importer.AddOuterConstant(name, ConstantOf(name));
    refused.Update(
        Annotate(importer.Import({}), absl::StrCat("attribute ", Quoted(attribute.name()))));
    if (model_.refusals == nullptr) RETURN_IF_ERROR(refused);
    spec.bodies.emplace(attribute.name(), std::move(body));
  }
  RETURN_IF_ERROR(refused);
  for (std::string_view name : values) spec.inputs.push_back(&Lookup(name));
  spec.captures = static_cast<int>(values.size());
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
