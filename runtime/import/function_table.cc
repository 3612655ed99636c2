#include "runtime/import/function_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/import/check_model.h"

namespace onnx_cudnn {
namespace {

// Sums over expanded calls can grow exponentially.
int64_t SaturatingSum(int64_t a, int64_t b) { return std::min(a + b, int64_t{1} << 60); }

}  // namespace

absl::StatusOr<FunctionTable> FunctionTable::Create(const onnx::ModelProto& model,
                                                    const Limits& limits) {
  if (model.functions_size() > limits.functions) {
    return absl::UnimplementedError(absl::StrCat("the model has ", model.functions_size(),
                                                 " functions, the limit is ", limits.functions));
  }
  FunctionTable table(limits);
  for (const onnx::FunctionProto& f : model.functions()) {
    const auto key = std::make_tuple(std::string(DomainOf(f)), f.name(), f.overload());
    if (!table.functions_.emplace(key, &f).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("function \"", f.name(), "\" is defined twice"));
    }
  }
  return table;
}

const onnx::FunctionProto* FunctionTable::Callee(const onnx::NodeProto& node) const {
  auto it = functions_.find(
      std::make_tuple(std::string(DomainOf(node)), node.op_type(), node.overload()));
  return it == functions_.end() ? nullptr : it->second;
}

absl::Status FunctionTable::AddNodes(
    const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, int depth, Size& size) {
  for (const onnx::NodeProto& node : nodes) {
    Size added{.nodes = 1, .bytes = static_cast<int64_t>(node.ByteSizeLong())};
    if (const onnx::FunctionProto* callee = Callee(node)) {
      ASSIGN_OR_RETURN(added, SizeOf(*callee, depth + 1));
    }
    size.nodes = SaturatingSum(size.nodes, added.nodes);
    size.bytes = SaturatingSum(size.bytes, added.bytes);
    size.height = std::max(size.height, added.height);
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      RETURN_IF_ERROR(AddNodes(attribute.g().node(), depth, size));
      for (const onnx::GraphProto& graph : attribute.graphs()) {
        RETURN_IF_ERROR(AddNodes(graph.node(), depth, size));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<FunctionTable::Size> FunctionTable::SizeOf(const onnx::FunctionProto& function,
                                                          int depth) {
  const auto known = sizes_.find(&function);
  if (depth + (known == sizes_.end() ? 0 : known->second.height - 1) > limits_.function_depth) {
    return absl::UnimplementedError(absl::StrCat("functions call each other more than ",
                                                 limits_.function_depth, " deep, the limit"));
  }
  if (known != sizes_.end()) return known->second;
  bool& open = open_[&function];
  if (open) {
    return absl::InvalidArgumentError(
        absl::StrCat("function \"", function.name(), "\" calls itself"));
  }
  open = true;
  Size size;
  RETURN_IF_ERROR(AddNodes(function.node(), depth, size));
  open = false;
  ++size.height;
  sizes_[&function] = size;
  return size;
}

absl::Status FunctionTable::CheckExpansion(const onnx::GraphProto& graph) {
  for (const auto& [key, function] : functions_) RETURN_IF_ERROR(SizeOf(*function, 1).status());
  Size size;
  RETURN_IF_ERROR(AddNodes(graph.node(), 0, size));
  if (size.nodes > limits_.nodes) {
    return absl::UnimplementedError(
        absl::StrCat("the graph has ", size.nodes,
                     " nodes with its functions expanded, the limit is ", limits_.nodes));
  }
  if (size.bytes > limits_.file_bytes) {
    return absl::UnimplementedError(
        absl::StrCat("the nodes take ", size.bytes,
                     " bytes with the functions expanded, the limit is ", limits_.file_bytes));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
