#include "passes/partition/partition_order.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace onnx_cudnn {
namespace {

std::vector<std::vector<int>> Predecessors(absl::Span<const Candidate* const> candidates) {
  std::vector<int> owner;  // by Node id; -1: none
  for (size_t i = 0; i < candidates.size(); ++i) {
    for (const Node* node : candidates[i]->nodes) {
      if (node->id() >= static_cast<int>(owner.size())) owner.resize(2 * node->id() + 1, -1);
      owner[node->id()] = static_cast<int>(i);
    }
  }
  const auto owner_of = [&](const Node* node) {
    return node == nullptr || node->id() >= static_cast<int>(owner.size()) ? -1 : owner[node->id()];
  };
  std::vector<std::vector<int>> predecessors(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::vector<int>& list = predecessors[i];
    for (const Node* node : candidates[i]->nodes) {
      for (const Value* v : node->inputs()) {
        if (v == nullptr) continue;
        const int before = owner_of(v->producer());
        if (before >= 0 && before != static_cast<int>(i)) list.push_back(before);
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return predecessors;
}

// Every Candidate that is not in `order` has such a predecessor, so walking back finds a cycle.
std::vector<int> FindCycle(const PartitionOrder& found) {
  std::vector<bool> done(found.predecessors.size(), false);
  for (const int i : found.order) done[i] = true;
  int at = static_cast<int>(std::find(done.begin(), done.end(), false) - done.begin());
  std::vector<int> path, position(done.size(), -1);
  while (position[at] < 0) {
    position[at] = static_cast<int>(path.size());
    path.push_back(at);
    const std::vector<int>& before = found.predecessors[at];
    at = *std::find_if(before.begin(), before.end(), [&](int p) { return !done[p]; });
  }
  return {path.begin() + position[at], path.end()};
}

}  // namespace

PartitionOrder OrderPartitions(absl::Span<const Candidate* const> candidates) {
  PartitionOrder found{.predecessors = Predecessors(candidates)};
  std::vector<std::vector<int>> successors(candidates.size());
  std::vector<size_t> waiting(candidates.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < candidates.size(); ++i) {
    waiting[i] = found.predecessors[i].size();
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
    for (const int p : found.predecessors[i]) successors[p].push_back(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    found.order.push_back(next);
    for (const int s : successors[next]) {
      if (--waiting[s] == 0) ready.push(s);
    }
  }
  if (found.order.size() < candidates.size()) found.cycle = FindCycle(found);
  return found;
}

std::vector<int> NodeIds(const Candidate& candidate) {
  std::vector<int> ids;
  for (const Node* node : candidate.nodes) ids.push_back(node->id());
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace onnx_cudnn
