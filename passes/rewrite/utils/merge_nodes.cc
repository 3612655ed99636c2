#include "passes/rewrite/utils/merge_nodes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/ops/random_draw.h"

namespace onnx_cudnn {
namespace {

// Larger constants are equal only if they share bytes; smaller ones are compared by content.
constexpr int64_t kMostComparedBytes = 64 << 10;

// A constant as a key of a hash table.
struct Content {
  HostTensor tensor;

  bool compared() const { return tensor.bytes() <= kMostComparedBytes; }
  bool operator==(const Content& other) const {
    if (compared()) return SameContent(tensor, other.tensor);
    return tensor.raw() == other.tensor.raw() && tensor.dtype() == other.tensor.dtype() &&
           tensor.dims() == other.tensor.dims();
  }
  template <typename H>
  friend H AbslHashValue(H h, const Content& c) {
    h = H::combine(std::move(h), c.tensor.dtype(), c.tensor.dims());
    if (c.tensor.dtype() == DType::kString) return H::combine(std::move(h), c.tensor.strings());
    if (!c.compared()) return H::combine(std::move(h), c.tensor.raw());
    const char* bytes = static_cast<const char*>(c.tensor.raw());
    return H::combine_contiguous(std::move(h), bytes, c.tensor.bytes());
  }
};

// Merges the Nodes of one Graph that `takes`.
class Merger {
 public:
  Merger(Graph& graph, PassContext& context, std::string_view pass, TakesNode takes)
      : graph_(graph), context_(context), pass_(pass), takes_(takes) {}

  bool Run() {
    bool changed = false;
    visited_.resize(graph_.node_ids());
    for (Node* node : graph_.TopologicalOrder()) {
      visited_[node->id()] = true;
      changed |= Visit(*node);
    }
    return changed;
  }

 private:
  // Users come later in the order, so their keys already refer to the merged inputs.
  bool Visit(Node& node) {
    if (!takes_(node)) return false;
    if (!node.bodies().empty()) {
      Note(node, "it has bodies");
      return VisitBodies(node);
    }
    if (!node.domain().empty()) return false;
    if (IsRandom(node)) {
      Note(node, "each run draws anew");
      return false;
    }
    if (IsOnlyReader(node)) return false;
    const auto [first, added] = nodes_.try_emplace(KeyOf(node), &node);
    if (added) return false;
    Node& kept = *first->second;  // Merge adds to the table
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (node.outputs()[i] == nullptr) continue;
      Merge(*node.outputs()[i], kept.output(static_cast<int>(i)));
    }
    graph_.Remove(node);
    return true;
  }

  // Whether it is the only reader of one of its inputs; then no other Node computes the same.
  static bool IsOnlyReader(const Node& node) {
    return std::any_of(node.inputs().begin(), node.inputs().end(), [](const Value* v) {
      return v != nullptr && !v->is_constant() && v->uses().size() == 1;
    });
  }

  // Visits again a Node that was visited as the only reader of `to`, since it no longer is.
  void Merge(Value& from, Value& to) {
    Node* reader = to.uses().size() == 1 ? to.uses()[0].node : nullptr;
    graph_.ReplaceAllUses(from, to);
    if (reader == nullptr || !visited_[reader->id()] || IsOnlyReader(*reader)) return;
    if (reader->bodies().empty() && reader->domain().empty() && !IsRandom(*reader)) {
      nodes_.try_emplace(KeyOf(*reader), reader);
    }
  }

  bool VisitBodies(Node& node) {
    bool changed = false;
    for (auto& [name, body] : graph_.MutableBodies(node)) {
      changed |= Merger(*body, context_, pass_, takes_).Run();
    }
    return changed;
  }

  void Note(const Node& node, std::string_view reason) {
    if (context_.remarks == nullptr) return;
    context_.remarks->push_back({std::string(pass_), Where(node), std::string(reason)});
  }

  // Equal for Nodes with equal results.
  std::string KeyOf(const Node& node) {
    std::string key = absl::StrCat(node.op(), " ", node.opset());
    for (const Value* v : node.outputs()) key += v == nullptr ? '-' : '+';
    for (const auto& [name, value] : node.attrs()) {
      absl::StrAppend(&key, " ", name, "=", value.index(), ":", AttributeText(value));
    }
    for (const Value* v : node.inputs()) key += v == nullptr ? " -" : ValueText(*v);
    return key;
  }

  std::string ValueText(const Value& value) {
    if (value.is_constant()) return absl::StrCat(" c", NumberOf(value.constant()));
    return absl::StrCat(" v", value.id());
  }

  // Compares tensors by their elements, because ToString shortens them.
  std::string AttributeText(const Attribute& attribute) {
    if (const auto* tensor = std::get_if<HostTensor>(&attribute)) {
      return absl::StrCat(NumberOf(*tensor));
    }
    const auto* tensors = std::get_if<std::vector<HostTensor>>(&attribute);
    if (tensors == nullptr) return ToString(attribute);
    std::string text;
    for (const HostTensor& tensor : *tensors) absl::StrAppend(&text, NumberOf(tensor), ",");
    return text;
  }

  // Equal for equal constants.
  size_t NumberOf(const HostTensor& tensor) {
    return constants_.try_emplace(Content{tensor}, constants_.size()).first->second;
  }

  Graph& graph_;
  PassContext& context_;
  const std::string_view pass_;
  const TakesNode takes_;
  absl::flat_hash_map<Content, size_t> constants_;
  absl::flat_hash_map<std::string, Node*> nodes_;
  std::vector<bool> visited_;  // by id
};

}  // namespace

bool MergeNodes(Graph& graph, PassContext& context, std::string_view pass, TakesNode takes) {
  return Merger(graph, context, pass, takes).Run();
}

}  // namespace onnx_cudnn
