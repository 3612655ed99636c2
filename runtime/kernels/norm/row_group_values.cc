// Which Nodes of a row group compute what, and which values they keep.
#include <algorithm>

#include "runtime/kernels/norm/row_group.h"
#include "runtime/plan/grow.h"

namespace onnx_cudnn {
namespace {

// Whether `value` depends on `node` within `nodes`.
bool DependsOn(const Value& value, const Node* node, const std::vector<const Node*>& nodes) {
  if (value.producer() == node) return true;
  if (!Contains(nodes, value.producer())) return false;
  const absl::Span<Value* const> inputs = value.producer()->inputs();
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Value* v) { return v != nullptr && DependsOn(*v, node, nodes); });
}

}  // namespace

bool IsReadByAny(const Value& value, const std::vector<const Node*>& nodes) {
  return std::any_of(value.uses().begin(), value.uses().end(),
                     [&](const Use& use) { return Contains(nodes, use.node); });
}

int RowGroup::PartOf(const Value& value) const {
  const Node* node = value.producer();
  for (int i = 0; i < static_cast<int>(parts.size()); ++i) {
    if (Contains(parts[i], node) || (i > 0 && row_ops[i - 1] == node)) return i;
  }
  return -1;
}

RowGroup RowGroupOf(absl::Span<const Node* const> nodes) {
  RowGroup group;
  for (const Node* node : nodes) {
    if (RowOpOf(*node).has_value()) group.row_ops.push_back(node);
  }
  group.parts.resize(group.row_ops.size() + 1);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (Contains(group.row_ops, *node)) continue;
    const Value& y = (*node)->output(0);
    size_t at = 0;
    while (at < group.row_ops.size() && &y != &group.row_ops[at]->input(0) &&
           !IsReadByAny(y, group.parts[at])) {
      ++at;
    }
    std::vector<const Node*>& part = (*node)->op() == "Gather" ? group.gathers : group.parts[at];
    part.insert(part.begin(), *node);
  }
  return group;
}

bool KeepsOneValue(const RowGroup& group) {
  const Value* before = nullptr;  // what is kept across the row op before
  for (int i = 0; i < static_cast<int>(group.row_ops.size()); ++i) {
    const Value* kept = nullptr;
    for (size_t later = i + 1; later < group.parts.size(); ++later) {
      for (const Node* node : group.parts[later]) {
        for (const Value* v : node->inputs()) {
          const int part = v == nullptr ? -1 : group.PartOf(*v);
          if (part < 0 || part > i || v == kept) continue;
          if (kept != nullptr) return false;
          kept = v;
        }
      }
    }
    if (before != nullptr && kept != nullptr && kept != before) {
      for (const Use& use : before->uses()) {
        if (!Contains(group.parts[i], use.node)) continue;
        if (!DependsOn(*kept, use.node, group.parts[i])) return false;
      }
    }
    before = kept;
  }
  return true;
}

bool ComputesFactors(absl::Span<const Node* const> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    if (!RowOpOf(*node).has_value()) return false;
    const absl::Span<Value* const> factors = node->inputs().subspan(1);
    return std::any_of(factors.begin(), factors.end(), [&](const Value* v) {
      return v != nullptr && Contains(nodes, v->producer());
    });
  });
}

}  // namespace onnx_cudnn
