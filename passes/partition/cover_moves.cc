#include "passes/partition/cover_moves.h"

#include <algorithm>
#include <utility>

namespace onnx_cudnn {
namespace {

constexpr int kMostPlacements = 64;

std::vector<const Node*> DepthFirst(const Stretch& stretch) {
  absl::flat_hash_set<const Node*> open(stretch.nodes.begin(), stretch.nodes.end());
  std::vector<const Node*> order;
  std::vector<std::pair<const Node*, size_t>> stack;
  const auto push = [&](const Node* node) {
    if (node != nullptr && open.erase(node) == 1) stack.push_back({node, 0});
  };
  const auto has_reader = [&](const Node* node) {
    return std::any_of(node->outputs().begin(), node->outputs().end(),
                       [&](const Value* v) { return v != nullptr && !v->uses().empty(); });
  };
  for (const bool inner : {false, true}) {
    for (const Node* root : stretch.nodes) {
      if (has_reader(root) == inner) push(root);
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next < node->inputs().size()) {
          const Value* v = node->inputs()[next++];
          if (v != nullptr) push(v->producer());
        } else {
          order.push_back(node);
          stack.pop_back();
        }
      }
    }
  }
  return order;
}

}  // namespace

CoverMoves::CoverMoves(const Stretch& stretch, int most_proposals)
    : stretch_(stretch), proposals_(stretch), order_(DepthFirst(stretch)) {
  for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = static_cast<int>(i);
  moves_from_.resize(order_.size());
  for (const auto& [value, placement] : stretch.demanded) {
    const Port port = PortOf(*value, placement);
    if (port.placement >= 0) values_[port.value].demanded |= PlacementSet{1} << port.placement;
  }
  for (const std::vector<Proposal>& at : proposals_.at()) AddCheapest(at, most_proposals);
}

int CoverMoves::IndexOf(const Value& value) {
  auto [it, added] = index_.try_emplace(&value, static_cast<int>(values_.size()));
  if (!added) return it->second;
  CoverValue info{.value = &value};
  for (const Use& use : value.uses()) {
    auto reader = position_.find(use.node);
    if (reader != position_.end()) info.readers.push_back(reader->second);
  }
  std::sort(info.readers.begin(), info.readers.end());
  info.made_inside = value.producer() != nullptr && position_.contains(value.producer());
  values_.push_back(std::move(info));
  auto outside = stretch_.produced.find(&value);
  if (outside != stretch_.produced.end() && !values_.back().made_inside) {
    values_.back().placements.push_back(outside->second);
    values_.back().outside_placement = 0;
  }
  return it->second;
}

// placement -1: the Value has more Placements than a state can hold.
Port CoverMoves::PortOf(const Value& value, const Placement& placement) {
  const int v = IndexOf(value);
  std::vector<Placement>& known = values_[v].placements;
  auto it = std::find(known.begin(), known.end(), placement);
  if (it == known.end()) {
    if (known.size() == kMostPlacements) return {v, -1};
    it = known.insert(known.end(), placement);
  }
  return {v, static_cast<int>(it - known.begin())};
}

// Adds the Candidates of one anchor; if there are too many, the cheapest per Node. Of Candidates
// that differ only in their Engine, keeps the cheapest.
void CoverMoves::AddCheapest(const std::vector<Proposal>& at, int most_proposals) {
  std::vector<const Proposal*> kept;
  for (const Proposal& p : at) kept.push_back(&p);
  if (static_cast<int>(kept.size()) > most_proposals) {
    was_cut_ = true;
    const auto per_node = [](const Proposal* p) {
      return p->candidate.cost.us / static_cast<double>(p->candidate.nodes.size());
    };
    std::stable_sort(kept.begin(), kept.end(), [&](const Proposal* a, const Proposal* b) {
      return per_node(a) < per_node(b);
    });
    kept.resize(most_proposals);
  }
  for (const Proposal* p : kept) AddMove(*p);
}

int CoverMoves::AddMove(const Proposal& proposal) {
  CoverMove move{.proposal = &proposal, .us = proposal.candidate.cost.us};
  for (const Node* node : proposal.candidate.nodes) move.nodes.push_back(position_.at(node));
  std::sort(move.nodes.begin(), move.nodes.end());
  if (!AddPorts(proposal.boundary.inputs, proposal.candidate.inputs, move.inputs) ||
      !AddPorts(proposal.boundary.outputs, proposal.candidate.outputs, move.outputs)) {
    was_cut_ = true;
    return -1;
  }
  for (const int other : moves_from_[move.nodes[0]]) {
    CoverMove& same = moves_[other];
    if (same.nodes != move.nodes || same.inputs != move.inputs || same.outputs != move.outputs) {
      continue;
    }
    if (move.us < same.us) same = std::move(move);
    return other;
  }
  moves_from_[move.nodes[0]].push_back(static_cast<int>(moves_.size()));
  moves_.push_back(std::move(move));
  return static_cast<int>(moves_.size()) - 1;
}

bool CoverMoves::AddPorts(const std::vector<const Value*>& values,
                          const std::vector<Placement>& placements, std::vector<Port>& ports) {
  for (size_t i = 0; i < values.size(); ++i) {
    ports.push_back(PortOf(*values[i], placements[i]));
    if (ports.back().placement < 0) return false;
  }
  return true;
}

absl::flat_hash_set<int> CoverMoves::MovesOf(const std::vector<Candidate>& cover) {
  absl::flat_hash_set<int> moves;
  for (const Candidate& c : cover) {
    known_.push_back({c, BoundaryOf(c.nodes)});
  }
  for (const Proposal& p : known_) moves.insert(AddMove(p));
  return moves;
}

absl::Status CoverMoves::Uncovered() const {
  absl::flat_hash_set<int> coverable;
  for (const CoverMove& move : moves_) coverable.insert(move.nodes.begin(), move.nodes.end());
  for (size_t i = 0; i < order_.size(); ++i) {
    if (!coverable.contains(static_cast<int>(i))) return proposals_.Unrunnable(*order_[i]);
  }
  return absl::UnimplementedError("no choice of the proposals covers every node");
}

}  // namespace onnx_cudnn
