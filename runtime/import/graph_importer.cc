#include "runtime/import/graph_importer.h"

#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/merge_types.h"
#include "runtime/graph/onnx_types.h"
#include "runtime/import/check_types.h"
#include "runtime/import/check_values.h"
#include "runtime/import/defaults.h"
#include "runtime/import/equation.h"
#include "runtime/import/gradient.h"
#include "runtime/import/import_attribute.h"
#include "runtime/import/names.h"
#include "runtime/import/node_order.h"
#include "runtime/import/upgrade.h"
#include "runtime/ops/op_table.h"

namespace onnx_cudnn {
namespace {

constexpr int kOldestOpset = 6;

// The type that a file declares. Some exporters write an unknown extent as -1.
absl::StatusOr<Type> ImportType(const onnx::ValueInfoProto& info, const Limits& limits) {
  ASSIGN_OR_RETURN(Type type, FromProto(info.type()));
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    if (dim.dim_value() >= -1) continue;
    return absl::InvalidArgumentError(absl::StrCat("an extent is ", dim.dim_value()));
  }
  RETURN_IF_ERROR(CheckExtents(type, limits.rank));
  return type;
}

// Whether `body` of the node is a branch that is perhaps never taken.
bool MayBeSkipped(const NodeSpec& spec, std::string_view body) {
  if (spec.op != "If") return false;
  const Value* condition = spec.inputs.empty() ? nullptr : spec.inputs[0];
  if (condition == nullptr || !condition->is_constant()) return true;
  const HostTensor& constant = condition->constant();
  if (constant.dtype() != DType::kBool || constant.elements() != 1) return true;
  return (constant.data<uint8_t>()[0] != 0) != (body == "then_branch");
}

std::string Input(std::string_view name) { return absl::StrCat("input ", Quoted(name)); }

absl::Status CheckDeclared(const HostTensor& tensor, const Type& declared, std::string_view where) {
  const Type type = Type::Tensor(tensor.dtype(), tensor.dims());
  if (MergeTypes(declared, type).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("is ", ToString(type), ", ", where,
                                                 " declares it ", ToString(declared),
                                                 ": one of the two is wrong"));
}

}  // namespace

void GraphImporter::AddOuterConstant(std::string_view name, HostTensor constant) {
  outer_constants_.emplace_back(name, std::move(constant));
}

void GraphImporter::AddCapture(std::string_view name, Type type) {
  captures_.emplace_back(name, std::move(type));
}

absl::Status GraphImporter::Import(absl::Span<const HostTensor> payloads) {
  graph_.set_name(proto_.name());
  RETURN_IF_ERROR(DefineNames());
  RETURN_IF_ERROR(ImportInputs());
  RETURN_IF_ERROR(ImportInitializers(payloads));
  ASSIGN_OR_RETURN(const std::vector<int> order, Order());
  for (int i : order) {
    onnx::NodeProto& node = *proto_.mutable_node(i);
    RETURN_IF_ERROR(ImportNode(node, free_names_[i]));
  }
  return ImportOutputs();
}

absl::Status GraphImporter::Define(std::string_view name, Definition definition) {
  if (name.empty()) return absl::InvalidArgumentError("a value has no name");
  if (names_.try_emplace(name, std::move(definition)).second) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("name ", Quoted(name), " is defined twice"));
}

absl::Status GraphImporter::DefineNames() {
  for (const onnx::ValueInfoProto& input : proto_.input()) {
    RETURN_IF_ERROR(Define(input.name(), {.is_input = true}));
  }
  RETURN_IF_ERROR(DefineInitializers());
  for (int i = 0; i < proto_.node_size(); ++i) {
    for (const std::string& output : proto_.node(i).output()) {
      if (!output.empty()) RETURN_IF_ERROR(Define(output, {.producer = i}));
    }
  }
  return absl::OkStatus();
}

// An input of the model may have an initializer as its default; one of a body may not, for its node
// feeds it.
absl::Status GraphImporter::DefineInitializers() {
  for (const onnx::TensorProto& initializer : proto_.initializer()) {
    auto input = names_.find(initializer.name());
    const bool is_default = kind_ == Kind::kMain && input != names_.end() &&
                            !std::exchange(input->second.is_initializer, true);
    if (!is_default) RETURN_IF_ERROR(Define(initializer.name(), {.is_initializer = true}));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportInputs() {
  for (const onnx::ValueInfoProto& info : proto_.input()) RETURN_IF_ERROR(ImportInput(info));
  // A name that the body defines itself hides the outer one, which another body of the node reads.
  for (auto& [name, type] : captures_) {
    Value& input = graph_.AddInput(name, std::move(type));
    names_.try_emplace(name, Definition{.value = &input});
  }
  for (auto& [name, constant] : outer_constants_) {
    names_.try_emplace(name, Definition{.constant = std::move(constant)});
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportInput(const onnx::ValueInfoProto& info) {
  Definition& definition = names_[info.name()];
  absl::StatusOr<Type> type = ImportType(info, model_.tensors.limits);
  if (!type.ok()) return Annotate(type.status(), Input(info.name()));
  if (definition.is_initializer) {
    declared_initializers_[info.name()] = *std::move(type);
    return absl::OkStatus();
  }
  const bool untyped = !type->is_known() || (type->is_tensor() && type->dtype == DType::kUndefined);
  if (untyped && kind_ == Kind::kMain) {
    return absl::InvalidArgumentError(absl::StrCat(Input(info.name()), " has no type"));
  }
  definition.value = &graph_.AddInput(info.name(), *std::move(type));
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportInitializers(absl::Span<const HostTensor> payloads) {
  for (int i = 0; i < proto_.initializer_size(); ++i) {
    onnx::TensorProto& proto = *proto_.mutable_initializer(i);
    const HostTensor payload = std::cmp_less(i, payloads.size()) ? payloads[i] : HostTensor();
    absl::StatusOr<HostTensor> tensor = ImportTensor(std::move(proto), model_.tensors, payload);
    const std::string where = absl::StrCat("initializer ", Quoted(proto.name()));
    if (!tensor.ok()) return Annotate(tensor.status(), where);
    RETURN_IF_ERROR(Annotate(CheckInitializer(proto.name(), *tensor), where));
    names_[proto.name()].constant = *std::move(tensor);
  }
  return absl::OkStatus();
}

// Against what the graph's inputs and value_info say of the name.
absl::Status GraphImporter::CheckInitializer(std::string_view name, const HostTensor& tensor) {
  auto input = declared_initializers_.find(name);
  if (input != declared_initializers_.end()) {
    RETURN_IF_ERROR(CheckDeclared(tensor, input->second, "its graph input"));
  }
  const onnx::ValueInfoProto* info = FindValueInfo(name);
  if (info == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Type declared, ImportType(*info, model_.tensors.limits));
  return CheckDeclared(tensor, declared, "its value_info");
}

absl::StatusOr<std::vector<int>> GraphImporter::Order() {
  std::vector<std::vector<int>> reads(proto_.node_size());
  free_names_.resize(proto_.node_size());
  for (const onnx::ValueInfoProto& output : proto_.output()) read_names_.insert(output.name());
  for (int i = 0; i < proto_.node_size(); ++i) {
    const onnx::NodeProto& node = proto_.node(i);
    free_names_[i] = FreeNames(node);
    std::vector<std::string_view> names(node.input().begin(), node.input().end());
    names.insert(names.end(), free_names_[i].begin(), free_names_[i].end());
    if (TakesGradient(node)) absl::c_copy(NamesIn(node), std::back_inserter(names));
    for (std::string_view name : names) {
      if (name.empty()) continue;
      read_names_.insert(name);
      auto definition = names_.find(name);
      if (definition == names_.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(Where(node), ": reads ", Quoted(name), ", which nothing defines"));
      }
      if (definition->second.producer >= 0) reads[i].push_back(definition->second.producer);
    }
  }
  return NodeOrder(proto_, reads);
}

// What it names is looked for in the model's own graph.
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
  if (!DomainOf(proto).empty()) return Support::No("the domain is not taken");
  if (opset >= kOldestOpset && opset <= kNewestOpset) return Support::Yes();
  return Support::No(absl::StrCat("opsets ", kOldestOpset, " to ", kNewestOpset, " are taken"));
}

absl::Status GraphImporter::ImportNode(onnx::NodeProto& proto,
                                       absl::Span<const std::string_view> captured) {
  if (proto.op_type() == "Constant") {
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

absl::StatusOr<std::vector<Value*>> GraphImporter::Append(const onnx::NodeProto& proto,
                                                          NodeSpec spec) {
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
  for (const std::string& name : proto.input()) {
    spec.inputs.push_back(name.empty() ? nullptr : &Lookup(name));
  }
  if (Support taken = CheckTaken(proto, spec.opset); !taken) {
    return absl::UnimplementedError(
        absl::StrCat(FormOf(Short(DomainOf(proto)), Short(spec.op), spec.opset, spec.inputs), ": ",
                     taken.reason()));
  }
  spec.outputs.assign(proto.output().begin(), proto.output().end());
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

// Exporters name them of every BatchNormalization in training mode before opset 14, and the newest
// form has none.
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
      return absl::InvalidArgumentError(absl::StrCat(where, " stands twice"));
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
  for (onnx::AttributeProto& attribute : *proto.mutable_attribute()) {
    if (!attribute.has_g()) continue;
    auto body = std::make_unique<Graph>();
    const bool skippable = kind_ == Kind::kBranch || MayBeSkipped(spec, attribute.name());
    GraphImporter importer(skippable ? Kind::kBranch : Kind::kBody, model_, *attribute.mutable_g(),
                           *body);
    for (std::string_view name : values) importer.AddCapture(name, Lookup(name).type());
    for (std::string_view name : constants) importer.AddOuterConstant(name, ConstantOf(name));
    RETURN_IF_ERROR(
        Annotate(importer.Import({}), absl::StrCat("attribute ", Quoted(attribute.name()))));
    spec.bodies.emplace(attribute.name(), std::move(body));
  }
  for (std::string_view name : values) spec.inputs.push_back(&Lookup(name));
  spec.captures = static_cast<int>(values.size());
  return absl::OkStatus();
}

absl::Status GraphImporter::TakeOutput(const std::string& name, Value* value) {
  if (value == nullptr) return absl::InternalError(absl::StrCat("lost output ", Quoted(name)));
  if (value->type().kind == Type::Kind::kUnknown) {
    if (const onnx::ValueInfoProto* info = FindValueInfo(name)) {
      ASSIGN_OR_RETURN(Type type, ImportType(*info, model_.tensors.limits));
      graph_.SetType(*value, std::move(type));
    }
  }
  names_[name].value = value;
  return Annotate(CheckExtents(value->type(), model_.tensors.limits.rank),
                  absl::StrCat("output ", Quoted(name)));
}

absl::Status GraphImporter::ImportOutputs() {
  absl::flat_hash_set<std::string> taken;
  for (const onnx::ValueInfoProto& info : proto_.output()) taken.insert(info.name());
  absl::flat_hash_set<std::string_view> seen;
  for (const onnx::ValueInfoProto& info : proto_.output()) {
    const std::string where = absl::StrCat("output ", Quoted(info.name()));
    if (names_.find(info.name()) == names_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(where, " is defined by nothing"));
    }
    std::string name = info.name();
    if (!seen.insert(info.name()).second) {
      // Outputs of the model are found by name, those of a body by position.
      if (kind_ == Kind::kMain) {
        return absl::InvalidArgumentError(absl::StrCat(where, " stands twice"));
      }
      for (int i = 1; !taken.insert(name).second; ++i) name = absl::StrCat(info.name(), "_", i);
    }
    Value& value = Lookup(info.name());
    RETURN_IF_ERROR(Annotate(RefineOutput(info, value), where));
    graph_.AddOutput(std::move(name), value);
  }
  return absl::OkStatus();
}

// Inferred numbers are true, declared ones often stale: of a declared type only the dims' symbols
// are taken, unless nothing at all was inferred.
absl::Status GraphImporter::RefineOutput(const onnx::ValueInfoProto& info, Value& value) {
  ASSIGN_OR_RETURN(Type declared, ImportType(info, model_.tensors.limits));
  Type type = value.type();
  if (type.kind == Type::Kind::kUnknown) {
    graph_.SetType(value, std::move(declared));
    return absl::OkStatus();
  }
  if (declared.kind == Type::Kind::kUnknown) return absl::OkStatus();
  if (declared.kind != type.kind ||
      (declared.dtype != type.dtype && declared.dtype != DType::kUndefined)) {
    return absl::InvalidArgumentError(
        absl::StrCat("is declared ", ToString(declared), ", and is ", ToString(type)));
  }
  if (value.is_graph_input() || declared.dims.size() != type.dims.size()) return absl::OkStatus();
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const bool open =
        type.dims[i].value < 0 && (type.dims[i].symbol.empty() || type.dims[i].made_up());
    if (open && !declared.dims[i].symbol.empty()) type.dims[i] = declared.dims[i];
  }
  graph_.SetType(value, std::move(type));
  return absl::OkStatus();
}

Value& GraphImporter::Lookup(std::string_view name) {
  Definition& definition = names_.at(name);
  if (definition.value == nullptr) {
    definition.value = &graph_.AddConstant(std::move(definition.constant), name);
  }
  return *definition.value;
}

const HostTensor& GraphImporter::ConstantOf(std::string_view name) const {
  const Definition& definition = names_.at(name);
  return definition.value == nullptr ? definition.constant : definition.value->constant();
}

const onnx::ValueInfoProto* GraphImporter::FindValueInfo(std::string_view name) {
  if (value_infos_.empty()) {
    for (const onnx::ValueInfoProto& info : proto_.value_info()) value_infos_[info.name()] = &info;
  }
  auto found = value_infos_.find(name);
  return found == value_infos_.end() ? nullptr : found->second;
}

}  // namespace onnx_cudnn
