#include "runtime/import/graph_importer.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/graph/merge_types.h"
#include "runtime/graph/onnx_types.h"
#include "runtime/import/check_values.h"
#include "runtime/import/gradient.h"
#include "runtime/import/names.h"
#include "runtime/import/node_order.h"

namespace onnx_cudnn {
namespace {

// The declared type. Some exporters write an unknown extent as -1.
absl::StatusOr<Type> ImportType(const onnx::ValueInfoProto& info, const Limits& limits) {
  ASSIGN_OR_RETURN(Type type, FromProto(info.type()));
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    if (dim.dim_value() >= -1) continue;
    return absl::InvalidArgumentError(absl::StrCat("an extent is ", dim.dim_value()));
  }
  RETURN_IF_ERROR(CheckExtents(type, limits.rank));
  return type;
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
  if (const auto own = model_.opsets.find(""); own != model_.opsets.end()) {
    graph_.set_file_opset(own->second);
  }
  RETURN_IF_ERROR(DefineNames());
  RETURN_IF_ERROR(ImportInputs());
  RETURN_IF_ERROR(ImportInitializers(payloads));
  ASSIGN_OR_RETURN(const std::vector<int> order, Order());
  int64_t done = 0;
  for (int i : order) {
    onnx::NodeProto& node = *proto_.mutable_node(i);
    RETURN_IF_ERROR(Report(done++, node.op_type()));
    RETURN_IF_ERROR(NoteRefusal(node, ImportNode(node, free_names_[i])));
  }
  RETURN_IF_ERROR(Report(done, ""));
  if (has_refusals_ && kind_ != Kind::kMain) {
    return absl::UnimplementedError("it holds nodes that do not run");
  }
  return ImportOutputs();
}

// Nodes of bodies are parts of their node.
absl::Status GraphImporter::Report(int64_t done, std::string_view op) const {
  if (kind_ != Kind::kMain) return CheckCancelled();
  return ReportProgress(ProgressStage::kLoading, done, proto_.node_size(), op);
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

// An input of the model may have an initializer as its default; an input of a body may not, because
// its node provides the value.
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
  // A name that the body defines itself hides the outer one, which another body of the node may
  // read.
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
    RETURN_IF_ERROR(CheckCancelled());
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

// Checks the initializer against the type in the graph's inputs and value_info.
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
      // Outputs of the model are identified by name, those of a body by position.
      if (kind_ == Kind::kMain) {
        return absl::InvalidArgumentError(absl::StrCat(where, " is given twice"));
      }
      for (int i = 1; !taken.insert(name).second; ++i) name = absl::StrCat(info.name(), "_", i);
    }
    Value& value = Lookup(info.name());
    // Of a refused node: it is an input here, which nothing computes.
    if (model_.refusals != nullptr && model_.refusals->inputs.contains(value.name())) continue;
    RETURN_IF_ERROR(Annotate(RefineOutput(info, value), where));
    graph_.AddOutput(std::move(name), value);
  }
  return absl::OkStatus();
}

// Inferred dims are correct, while declared ones are often outdated: only symbols are taken from a
// declared type, unless nothing was inferred.
absl::Status GraphImporter::RefineOutput(const onnx::ValueInfoProto& info, Value& value) {
  ASSIGN_OR_RETURN(Type declared, ImportType(info, model_.tensors.limits));
  Type type = value.type();
  if (type.kind == Type::Kind::kUnknown) {
    // Behind a refused node, those that read it have been imported without its type.
    const bool is_read = model_.refusals != nullptr && !value.uses().empty();
    if (!is_read) graph_.SetType(value, std::move(declared));
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
