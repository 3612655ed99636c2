#include "runtime/import/node_order.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/import/names.h"

namespace onnx_cudnn {
namespace {

using NameSet = absl::flat_hash_set<std::string_view>;

NameSet DefinedNames(const onnx::GraphProto& graph) {
  NameSet names;
  for (const onnx::ValueInfoProto& input : graph.input()) names.insert(input.name());
  for (const onnx::TensorProto& initializer : graph.initializer()) names.insert(initializer.name());
  for (const onnx::NodeProto& node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
  }
  return names;
}

// A list of names without duplicates.
class NameList {
 public:
  void Add(std::string_view name) {
    if (!name.empty() && seen_.insert(name).second) names_.push_back(name);
  }
  std::vector<std::string_view> Take() { return std::move(names_); }

 private:
  NameSet seen_;
  std::vector<std::string_view> names_;
};

}  // namespace

std::vector<std::string_view> FreeNames(const onnx::GraphProto& graph) {
  const NameSet defined = DefinedNames(graph);
  NameList free;
  const auto read = [&](std::string_view name) {
    if (!defined.contains(name)) free.Add(name);
  };
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& name : node.input()) read(name);
    for (std::string_view name : FreeNames(node)) read(name);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) read(output.name());
  return free.Take();
}

std::vector<std::string_view> FreeNames(const onnx::NodeProto& node) {
  NameList free;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (std::string_view name : FreeNames(attribute.g())) free.Add(name);
  }
  return free.Take();
}

absl::StatusOr<std::vector<int>> NodeOrder(const onnx::GraphProto& graph,
                                           const std::vector<std::vector<int>>& reads) {
  enum : char { kNew, kOpen, kDone };
  std::vector<char> state(reads.size(), kNew);
  std::vector<int> order;
  order.reserve(reads.size());
  std::vector<std::pair<int, size_t>> stack;  // a node and the index of its next read
  for (size_t root = 0; root < reads.size(); ++root) {
    if (state[root] == kNew) stack.push_back({static_cast<int>(root), 0});
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      state[node] = kOpen;
      if (next == reads[node].size()) {
        state[node] = kDone;
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      const int producer = reads[node][next++];
      if (state[producer] == kOpen) {
        return absl::InvalidArgumentError(
            absl::StrCat(Where(graph.node(producer)), ": reads its own result, a cycle"));
      }
      if (state[producer] == kNew) stack.push_back({producer, 0});
    }
  }
  return order;
}

std::string Where(const onnx::NodeProto& node) { return WhereOf(node.op_type(), node.name()); }

}  // namespace onnx_cudnn
