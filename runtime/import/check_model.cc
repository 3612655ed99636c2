#include "runtime/import/check_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph.h"
#include "runtime/import/names.h"

namespace onnx_cudnn {
namespace {

constexpr int kOldestIr = 3;  // the first version with opsets

absl::Status CheckIrVersion(const onnx::ModelProto& model) {
  const int64_t version = model.ir_version();
  if (version <= 0) return absl::InvalidArgumentError("ir_version is missing");
  if (version >= kOldestIr && version <= onnx::IR_VERSION) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("ir_version ", version, ", ", kOldestIr, " to ",
                                               static_cast<int>(onnx::IR_VERSION), " are taken"));
}

// Checks names and counts of one graph and its bodies against the limits.
class LimitChecker {
 public:
  explicit LimitChecker(const Limits& limits) : limits_(limits) {}

  absl::Status Check(const onnx::GraphProto& graph, int depth) {
    if (depth > limits_.subgraph_depth) {
      return absl::UnimplementedError(
          absl::StrCat("bodies are nested deeper than the limit of ", limits_.subgraph_depth));
    }
    if (graph.sparse_initializer_size() > 0) {
      return absl::UnimplementedError("sparse initializers are not taken");
    }
    nodes_ += graph.node_size();
    if (nodes_ > limits_.nodes) {
      return absl::UnimplementedError(
          absl::StrCat("has more nodes than the limit of ", limits_.nodes));
    }
    RETURN_IF_ERROR(CheckName(graph.name()));
    RETURN_IF_ERROR(CheckNamesOf(graph.input()));
    RETURN_IF_ERROR(CheckNamesOf(graph.output()));
    RETURN_IF_ERROR(CheckNamesOf(graph.initializer()));
    for (const onnx::NodeProto& node : graph.node()) RETURN_IF_ERROR(CheckNode(node, depth));
    return absl::OkStatus();
  }

 private:
  absl::Status CheckNode(const onnx::NodeProto& node, int depth) {
    for (const std::string* name : {&node.name(), &node.op_type(), &node.domain()}) {
      RETURN_IF_ERROR(CheckName(*name));
    }
    for (const std::string& name : node.input()) RETURN_IF_ERROR(CheckName(name));
    for (const std::string& name : node.output()) RETURN_IF_ERROR(CheckName(name));
    RETURN_IF_ERROR(CheckNamesOf(node.attribute()));
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) RETURN_IF_ERROR(Check(attribute.g(), depth + 1));
    }
    return absl::OkStatus();
  }

  absl::Status CheckNamesOf(const auto& things) {
    for (const auto& thing : things) RETURN_IF_ERROR(CheckName(thing.name()));
    return absl::OkStatus();
  }

  // Names appear in messages and on terminals.
  absl::Status CheckName(std::string_view name) {
    if (std::cmp_greater(name.size(), limits_.name_bytes)) {
      return absl::UnimplementedError(absl::StrCat("name ", Quoted(name), " has ", name.size(),
                                                   " bytes, the limit is ", limits_.name_bytes));
    }
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (std::none_of(name.begin(), name.end(), is_control)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("name ", Quoted(name), " holds control characters"));
  }

  const Limits& limits_;
  int64_t nodes_ = 0;
};

}  // namespace

absl::StatusOr<Opsets> ReadOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const onnx::OperatorSetIdProto& import : imports) {
    const std::string domain(DomainOf(import));
    if (import.version() <= 0 || import.version() > INT32_MAX) {
      return absl::InvalidArgumentError(
          absl::StrCat("opset ", import.version(), " of domain ", Quoted(domain)));
    }
    // Some exporters repeat an import.
    const auto [known, is_new] = opsets.emplace(domain, static_cast<int>(import.version()));
    if (!is_new && known->second != import.version()) {
      return absl::InvalidArgumentError(absl::StrCat("domain ", Quoted(domain),
                                                     " is imported as opset ", known->second,
                                                     " and as opset ", import.version()));
    }
  }
  return opsets;
}

absl::StatusOr<Opsets> CheckHeader(const onnx::ModelProto& model) {
  RETURN_IF_ERROR(CheckIrVersion(model));
  if (!model.has_graph()) return absl::InvalidArgumentError("holds no graph");
  if (model.training_info_size() > 0) return absl::UnimplementedError("training is not taken");
  ASSIGN_OR_RETURN(Opsets opsets, ReadOpsets(model.opset_import()));
  if (opsets.empty()) return absl::InvalidArgumentError("imports no opset");
  return opsets;
}

absl::Status CheckLimits(const onnx::GraphProto& graph, const Limits& limits) {
  return LimitChecker(limits).Check(graph, 0);
}

}  // namespace onnx_cudnn
