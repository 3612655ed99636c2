#include "runtime/import/onnx_writer.h"

#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/graph/onnx_types.h"
#include "runtime/import/choose_opset.h"
#include "runtime/import/downgrade.h"

namespace onnx_cudnn {
namespace {

using ValueNames = std::map<const Value*, std::string>;
// As for WriteModelWithout.
using PutData = absl::FunctionRef<std::string(const HostTensor& data)>;
// Smaller initializers stay in the message.
constexpr int64_t kLeastPutBytes = 64;

// Names used in the graph being written and in outer graphs.
class NameScope {
 public:
  std::string Claim(std::string_view wanted) {
    std::string name(wanted);
    while (!taken_.insert(name).second) name = absl::StrCat(wanted, "_", serial_++);
    return name;
  }
  void Release(const std::string& name) { taken_.erase(name); }

 private:
  std::unordered_set<std::string> taken_;
  int64_t serial_ = 0;
};

void WriteValueInfo(const std::string& name, const Type& type, onnx::ValueInfoProto* proto) {
  proto->set_name(name);
  *proto->mutable_type() = ToProto(type);
}

// The Nodes of a graph as the opset of the file has them.
struct OlderNodes {
  std::vector<NodeSpec> specs;  // in topological order
  Graph constants;              // that only they read
  absl::flat_hash_set<const Value*> read;
};

class ModelWriter {
 public:
  // put  nullopt: all data is inline
  ModelWriter(int opset, const NodeMetadata& metadata, std::optional<PutData> put = std::nullopt)
      : opset_(opset), metadata_(metadata), put_(put) {}

  absl::StatusOr<onnx::ModelProto> Write(const Graph& graph) {
    onnx::ModelProto model;
    model.set_ir_version(IrVersionOf(opset_));
    model.set_producer_name("onnx-cudnn");
    opsets_[""] = opset_;
    RETURN_IF_ERROR(WriteGraph(graph, {}, model.mutable_graph()));
    for (const auto& [domain, version] : opsets_) {
      onnx::OperatorSetIdProto* import = model.add_opset_import();
      import->set_domain(domain);
      import->set_version(version);
    }
    return model;
  }

 private:
  // `captured` names the last inputs, which the outer graph of a body defines.
  absl::Status WriteGraph(const Graph& graph, const std::vector<std::string>& captured,
                          onnx::GraphProto* proto) {
    const size_t own_inputs = graph.inputs().size() - captured.size();
    ASSIGN_OR_RETURN(const OlderNodes nodes, Downgraded(graph));
    ValueNames names;
    std::vector<std::string> claimed;
    const auto claim = [&](std::string_view name) {
      claimed.push_back(scope_.Claim(name));
      return claimed.back();
    };
    for (size_t i = 0; i < own_inputs; ++i) {
      names[graph.inputs()[i]] = claim(graph.inputs()[i]->name());
    }
    const std::vector<std::string> output_names = NameOutputs(graph, names, claim);
    for (size_t i = 0; i < captured.size(); ++i) {
      names[graph.inputs()[own_inputs + i]] = captured[i];
    }
    for (const Graph* values : {&graph, &nodes.constants}) {
      for (const Value* v : values->Values()) {
        const bool is_read = !v->is_constant() || nodes.read.contains(v);
        if (is_read && !names.contains(v)) names[v] = claim(v->name());
      }
    }
    proto->set_name(graph.name().empty() ? "g" : graph.name());
    WriteBorder(graph, own_inputs, names, output_names, proto);
    WriteConstants(graph, names, proto);
    WriteConstants(nodes.constants, names, proto);
    const std::vector<Node*> order = graph.TopologicalOrder();
    for (size_t i = 0; i < order.size(); ++i) {
      const absl::Status s = WriteNode(*order[i], nodes.specs[i], names, proto->add_node());
      if (!s.ok()) return Annotate(s, Where(*order[i]));
    }
    WriteIdentities(graph, names, output_names, proto);
    for (const std::string& name : claimed) scope_.Release(name);
    return absl::OkStatus();
  }

  absl::StatusOr<OlderNodes> Downgraded(const Graph& graph) const {
    OlderNodes nodes;
    for (const Node* node : graph.TopologicalOrder()) {
      const int opset = node->domain().empty() ? opset_ : node->opset();
      auto spec = Downgrade(*node, opset, nodes.constants);
      if (!spec.ok()) return Annotate(spec.status(), Where(*node));
      nodes.read.insert(spec->inputs.begin(), spec->inputs.end());
      nodes.specs.push_back(*std::move(spec));
    }
    for (const GraphOutput& output : graph.outputs()) nodes.read.insert(output.value);
    return nodes;
  }

  // Names of the outputs, and of the Values that can use them directly; a body must not return a
  // captured Value directly.
  static std::vector<std::string> NameOutputs(const Graph& graph, ValueNames& names, auto claim) {
    std::vector<std::string> output_names;
    for (const auto& [name, value] : graph.outputs()) {
      auto named = names.find(value);
      if (named != names.end() && named->second == name) {  // an input that keeps its name
        output_names.push_back(name);
        continue;
      }
      output_names.push_back(claim(name));
      const bool takes_name =
          value->producer() != nullptr || (value->is_constant() && value->name() == name);
      if (named == names.end() && takes_name) names[value] = output_names.back();
    }
    return output_names;
  }

  static void WriteBorder(const Graph& graph, size_t own_inputs, const ValueNames& names,
                          const std::vector<std::string>& output_names, onnx::GraphProto* proto) {
    for (size_t i = 0; i < own_inputs; ++i) {
      const Value* input = graph.inputs()[i];
      WriteValueInfo(names.at(input), input->type(), proto->add_input());
    }
    for (size_t i = 0; i < output_names.size(); ++i) {
      WriteValueInfo(output_names[i], graph.outputs()[i].value->type(), proto->add_output());
    }
  }

  void WriteConstants(const Graph& graph, const ValueNames& names, onnx::GraphProto* proto) const {
    for (const Value* v : graph.Values()) {
      if (!v->is_constant() || !names.contains(v)) continue;
      onnx::TensorProto* initializer = proto->add_initializer();
      *initializer = TensorOf(v->constant());
      initializer->set_name(names.at(v));
    }
  }

  onnx::TensorProto TensorOf(const HostTensor& constant) const {
    const bool is_put = put_.has_value() && constant.dtype() != DType::kString &&
                        constant.bytes() >= kLeastPutBytes;
    if (!is_put) return ToProto(constant);
    onnx::TensorProto tensor = ToProtoWithoutData(constant);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto* entry = tensor.add_external_data();
    entry->set_key("location");
    entry->set_value((*put_)(constant));
    return tensor;
  }

  static void WriteIdentities(const Graph& graph, const ValueNames& names,
                              const std::vector<std::string>& output_names,
                              onnx::GraphProto* proto) {
    for (size_t i = 0; i < output_names.size(); ++i) {
      const std::string& source = names.at(graph.outputs()[i].value);
      if (source == output_names[i]) continue;
      onnx::NodeProto* identity = proto->add_node();
      identity->set_op_type("Identity");
      identity->add_input(source);
      identity->add_output(output_names[i]);
    }
  }

  absl::Status NoteOpset(const Node& node) {
    const int opset = opsets_.try_emplace(node.domain(), node.opset()).first->second;
    if (opset == node.opset() || node.domain().empty()) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat("opset ", node.opset(), " of domain \"",
                                                 node.domain(), "\", another node has ", opset));
  }

  // spec  the Node in the opset of the file
  absl::Status WriteNode(const Node& node, const NodeSpec& spec, const ValueNames& names,
                         onnx::NodeProto* proto) {
    if (node.domain() == kOwnDomain) {
      return absl::FailedPreconditionError("is not an op of ONNX, a file cannot hold it");
    }
    RETURN_IF_ERROR(NoteOpset(node));
    proto->set_op_type(spec.op);
    proto->set_domain(node.domain());
    proto->set_name(node.name());
    const auto name_of = [&](const Value* v) { return v == nullptr ? "" : names.at(v); };
    const absl::Span<Value* const> inputs = spec.inputs;
    const size_t own_inputs = inputs.size() - spec.captures;
    for (const Value* v : inputs.first(own_inputs)) proto->add_input(name_of(v));
    for (const Value* v : node.outputs()) proto->add_output(name_of(v));
    for (const auto& [name, value] : spec.attrs) *proto->add_attribute() = ToProto(name, value);
    if (const auto said = metadata_.find(&node); said != metadata_.end()) {
      for (const auto& [key, text] : said->second) {
        onnx::StringStringEntryProto* entry = proto->add_metadata_props();
        entry->set_key(key);
        entry->set_value(text);
      }
    }
    std::vector<std::string> captured;
    for (const Value* v : inputs.subspan(own_inputs)) captured.push_back(name_of(v));
    for (const auto& [name, body] : node.bodies()) {
      onnx::AttributeProto* attribute = proto->add_attribute();
      attribute->set_name(name);
      attribute->set_type(onnx::AttributeProto::GRAPH);
      RETURN_IF_ERROR(WriteGraph(*body, captured, attribute->mutable_g()));
    }
    return absl::OkStatus();
  }

  const int opset_;
  const NodeMetadata& metadata_;
  const std::optional<PutData> put_;
  NameScope scope_;
  std::map<std::string, int> opsets_;
};

absl::StatusOr<std::string> Serialized(const onnx::ModelProto& model) {
  const size_t bytes = model.ByteSizeLong();
  if (bytes <= static_cast<size_t>(std::numeric_limits<int>::max())) {
    return model.SerializeAsString();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "the model takes ", bytes, " bytes, a message holds ", std::numeric_limits<int>::max()));
}

}  // namespace

absl::StatusOr<WrittenModel> WriteModelOf(const Graph& graph, int opset, OpsetRule rule,
                                          const NodeMetadata& metadata) {
  const OpsetChoice choice = ChooseOpset(graph, opset);
  if (rule == OpsetRule::kThis && choice.opset != opset) {
    return absl::UnimplementedError(absl::StrCat("cannot be written in opset ", opset, ", needs ",
                                                 choice.opset, ": ", choice.reason));
  }
  ASSIGN_OR_RETURN(const onnx::ModelProto model, ModelWriter(choice.opset, metadata).Write(graph));
  ASSIGN_OR_RETURN(std::string bytes, Serialized(model));
  return WrittenModel{.bytes = std::move(bytes),
                      .opset = choice.opset,
                      .ir_version = static_cast<int>(model.ir_version()),
                      .reason = choice.reason};
}

absl::StatusOr<std::string> WriteModel(const Graph& graph) {
  ASSIGN_OR_RETURN(WrittenModel model, WriteModelOf(graph, kNewestOpset, OpsetRule::kThis));
  return std::move(model.bytes);
}

absl::StatusOr<std::string> WriteModelWithout(const Graph& graph, PutData put) {
  const NodeMetadata none;
  ASSIGN_OR_RETURN(const onnx::ModelProto model, ModelWriter(kNewestOpset, none, put).Write(graph));
  return Serialized(model);
}

absl::Status WriteModelFile(const Graph& graph, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, WriteModel(graph));
  return WriteFile(path, bytes);
}

}  // namespace onnx_cudnn
