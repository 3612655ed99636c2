// The cheapest cover by dynamic programming in one fixed depth-first order. A state is the first
// uncovered Node u, the covered Nodes beyond u, and how the live Values lie or are wanted. Every
// Candidate whose lowest Node is u leads on, so states are settled in the order of u.
#include "passes/partition/cost_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "passes/partition/proposals.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

using PlacementSet = uint64_t;  // a bit for each Placement of a Value
constexpr int kMostPlacements = 64;

// A Value at a Candidate's border, and how it lies there.
struct Port {
  int value;
  int placement;
  auto operator<=>(const Port&) const = default;
};

// A Candidate in numbers.
struct Move {
  const Proposal* proposal;
  std::vector<int> nodes;  // positions in the search's order, ascending
  std::vector<Port> inputs, outputs;
  double us;
};

struct ValueInfo {
  const Value* value;
  std::vector<Placement> placements;
  std::vector<int> readers;    // positions, ascending
  bool made_inside = false;    // its producer is in the Stretch
  int outside_placement = -1;  // as it comes from outside; -1: made inside, or nobody says
  PlacementSet demanded = 0;   // by those outside
};

// A Value that was made and has readers left, or that is wanted and not made yet.
struct Live {
  int value;
  int made_as;  // -1: not made yet
  PlacementSet placements;
  bool operator==(const Live&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Live& l) {
    return H::combine(std::move(h), l.value, l.made_as, l.placements);
  }
};

// Two states of the same u are one when these are equal.
struct Front {
  std::vector<int> beyond;  // covered positions above u, ascending
  std::vector<Live> live;   // by value, ascending
  bool operator==(const Front&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Front& f) {
    return H::combine(std::move(h), f.beyond, f.live);
  }
};

struct State {
  double us;
  int parent;  // -1: the start
  int move;
  bool on_known_path;  // reached by moves of a known cover alone, or no dearer than that
};

// Producers before consumers, each branch to its end before the next: few Values are live at once.
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

class Search {
 public:
  Search(const Stretch& stretch, const CostSearchLimits& limits)
      : stretch_(stretch), limits_(limits), proposals_(stretch), order_(DepthFirst(stretch)) {
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = static_cast<int>(i);
    moves_from_.resize(order_.size());
    for (const auto& [value, placement] : stretch.demanded) {
      const Port port = PortOf(*value, placement);
      if (port.placement >= 0) values_[port.value].demanded |= PlacementSet{1} << port.placement;
    }
    for (const std::vector<Proposal>& at : proposals_.at()) AddCheapest(at);
  }

  absl::StatusOr<CostSearchResult> Run() {
    const int64_t per_node = int64_t{limits_.states_per_node} * static_cast<int>(order_.size());
    if (!was_cut_ && Explore(std::max<int64_t>(per_node, limits_.least_states), {})) {
      return Result(/*exact=*/true);
    }
    ASSIGN_OR_RETURN(const std::vector<Candidate> known, Greedy(stretch_));
    Explore(std::numeric_limits<int64_t>::max(), MovesOf(known));
    return Result(/*exact=*/false);
  }

 private:
  // ── In numbers ──
  int IndexOf(const Value& value) {
    auto [it, added] = index_.try_emplace(&value, static_cast<int>(values_.size()));
    if (!added) return it->second;
    ValueInfo info{.value = &value};
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
  Port PortOf(const Value& value, const Placement& placement) {
    const int v = IndexOf(value);
    std::vector<Placement>& known = values_[v].placements;
    auto it = std::find(known.begin(), known.end(), placement);
    if (it == known.end()) {
      if (known.size() == kMostPlacements) return {v, -1};
      it = known.insert(known.end(), placement);
    }
    return {v, static_cast<int>(it - known.begin())};
  }

  // The Candidates of one anchor, the cheapest per Node if there are too many. Of those that differ
  // in nothing but their Engine the cheapest is a Move.
  void AddCheapest(const std::vector<Proposal>& at) {
    std::vector<const Proposal*> kept;
    for (const Proposal& p : at) kept.push_back(&p);
    if (static_cast<int>(kept.size()) > limits_.proposals) {
      was_cut_ = true;
      const auto per_node = [](const Proposal* p) {
        return p->candidate.cost.us / static_cast<double>(p->candidate.nodes.size());
      };
      std::stable_sort(kept.begin(), kept.end(), [&](const Proposal* a, const Proposal* b) {
        return per_node(a) < per_node(b);
      });
      kept.resize(limits_.proposals);
    }
    for (const Proposal* p : kept) AddMove(*p);
  }

  int AddMove(const Proposal& proposal) {
    Move move{.proposal = &proposal, .us = proposal.candidate.cost.us};
    for (const Node* node : proposal.candidate.nodes) move.nodes.push_back(position_.at(node));
    std::sort(move.nodes.begin(), move.nodes.end());
    if (!AddPorts(proposal.boundary.inputs, proposal.candidate.inputs, move.inputs) ||
        !AddPorts(proposal.boundary.outputs, proposal.candidate.outputs, move.outputs)) {
      was_cut_ = true;
      return -1;
    }
    for (const int other : moves_from_[move.nodes[0]]) {
      Move& same = moves_[other];
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

  bool AddPorts(const std::vector<const Value*>& values, const std::vector<Placement>& placements,
                std::vector<Port>& ports) {
    for (size_t i = 0; i < values.size(); ++i) {
      ports.push_back(PortOf(*values[i], placements[i]));
      if (ports.back().placement < 0) return false;
    }
    return true;
  }

  absl::flat_hash_set<int> MovesOf(const std::vector<Candidate>& cover) {
    absl::flat_hash_set<int> moves;
    for (const Candidate& c : cover) {
      known_.push_back({c, BoundaryOf(c.nodes)});
    }
    for (const Proposal& p : known_) moves.insert(AddMove(p));
    return moves;
  }

  // ── Exploring ──
  // All states in the order of u; false: there are more than `most_states`. With a known cover, at
  // each u only the cheapest states and those on its path are kept.
  bool Explore(int64_t most_states, const absl::flat_hash_set<int>& known) {
    const size_t n = order_.size();
    states_.clear();
    fronts_.assign(n + 1, {});
    Front start;
    for (int v = 0; v < static_cast<int>(values_.size()); ++v) {
      if (values_[v].demanded != 0) start.live.push_back({v, -1, values_[v].demanded});
    }
    states_.push_back({0, -1, -1, true});
    fronts_[0].push_back({std::move(start), 0});
    for (size_t u = 0; u < n; ++u) {
      Settle(fronts_[u], known.empty() ? 0 : limits_.beam);
      for (const auto& [front, state] : fronts_[u]) {
        for (const int move : moves_from_[u]) Take(front, state, static_cast<int>(u), move, known);
      }
      fronts_[u] = {};
      if (static_cast<int64_t>(states_.size()) > most_states) return false;
    }
    Settle(fronts_[n], 0);
    return true;
  }

  using Fronts = std::vector<std::pair<Front, int>>;

  // Of equal fronts the cheapest; of those the `beam` cheapest and the known path (0: all).
  void Settle(Fronts& fronts, int beam) {
    absl::flat_hash_map<Front, int> best;
    for (auto& [front, state] : fronts) {
      auto [it, added] = best.try_emplace(std::move(front), state);
      if (added) continue;
      State& kept = states_[it->second];
      State& other = states_[state];
      const bool on_known_path = kept.on_known_path || other.on_known_path;
      if (other.us < kept.us) it->second = state;
      states_[it->second].on_known_path = on_known_path;
    }
    fronts.assign(std::make_move_iterator(best.begin()), std::make_move_iterator(best.end()));
    // The order of a hash table is no order: states are numbered as they were made.
    std::sort(fronts.begin(), fronts.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    if (beam == 0 || static_cast<int>(fronts.size()) <= beam) return;
    std::stable_sort(fronts.begin(), fronts.end(), [&](const auto& a, const auto& b) {
      return states_[a.second].us < states_[b.second].us;
    });
    int place = 0;
    std::erase_if(
        fronts, [&](const auto& f) { return place++ >= beam && !states_[f.second].on_known_path; });
  }

  void Take(const Front& front, int state, int u, int index,
            const absl::flat_hash_set<int>& known) {
    const Move& move = moves_[index];
    if (!Disjoint(front.beyond, move.nodes)) return;
    Front next;
    std::merge(front.beyond.begin(), front.beyond.end(), move.nodes.begin(), move.nodes.end(),
               std::back_inserter(next.beyond));
    size_t covered = 0;
    while (covered < next.beyond.size() && next.beyond[covered] == u + static_cast<int>(covered)) {
      ++covered;
    }
    next.beyond.erase(next.beyond.begin(), next.beyond.begin() + covered);
    const int next_u = u + static_cast<int>(covered);
    next.live = front.live;
    double us = states_[state].us + move.us;
    for (const Port& port : move.inputs) us += Read(next.live, port);
    for (const Port& port : move.outputs) us += Make(next.live, port);
    std::erase_if(next.live, [&](const Live& l) { return IsOver(l, next, next_u); });
    const bool on_known_path = states_[state].on_known_path && known.contains(index);
    states_.push_back({us, state, index, on_known_path});
    fronts_[next_u].push_back({std::move(next), static_cast<int>(states_.size()) - 1});
  }

  static bool Disjoint(const std::vector<int>& a, const std::vector<int>& b) {
    return std::none_of(b.begin(), b.end(), [&](int position) {
      return std::binary_search(a.begin(), a.end(), position);
    });
  }

  static std::vector<Live>::iterator Find(std::vector<Live>& live, int value) {
    return std::lower_bound(live.begin(), live.end(), value,
                            [](const Live& l, int v) { return l.value < v; });
  }

  // What it costs to have the Value so; a Value not made yet is only wanted so.
  double Read(std::vector<Live>& live, const Port& port) {
    const ValueInfo& info = values_[port.value];
    const PlacementSet bit = PlacementSet{1} << port.placement;
    auto it = Find(live, port.value);
    if (it == live.end() || it->value != port.value) {
      if (!info.made_inside && port.placement == info.outside_placement) return 0;
      Live fresh{port.value, -1, 0};
      if (!info.made_inside) {
        fresh.made_as = info.outside_placement < 0 ? port.placement : info.outside_placement;
        fresh.placements = PlacementSet{1} << fresh.made_as;
      }
      it = live.insert(it, fresh);
    }
    if ((it->placements & bit) != 0) return 0;
    it->placements |= bit;
    return it->made_as < 0 ? 0 : Us(info, it->made_as, port.placement);
  }

  // What the Reformats to all that is wanted cost.
  double Make(std::vector<Live>& live, const Port& port) {
    auto it = Find(live, port.value);
    if (it == live.end() || it->value != port.value) it = live.insert(it, {port.value, -1, 0});
    it->made_as = port.placement;
    const PlacementSet wanted = it->placements & ~(PlacementSet{1} << port.placement);
    it->placements |= PlacementSet{1} << port.placement;
    double us = 0;
    for (PlacementSet left = wanted; left != 0; left &= left - 1) {
      us += Us(values_[port.value], port.placement, std::countr_zero(left));
    }
    return us;
  }

  double Us(const ValueInfo& info, int from, int to) const {
    return ReformatUs(*info.value, info.placements[from], info.placements[to],
                      stretch_.target.info);
  }

  bool IsOver(const Live& live, const Front& front, int u) const {
    if (live.made_as < 0) return false;
    const std::vector<int>& readers = values_[live.value].readers;
    for (auto it = readers.rbegin(); it != readers.rend() && *it >= u; ++it) {
      if (!std::binary_search(front.beyond.begin(), front.beyond.end(), *it)) return false;
    }
    return true;
  }

  // ── The answer ──
  absl::StatusOr<CostSearchResult> Result(bool exact) const {
    CostSearchResult result{.states = static_cast<int>(states_.size()), .exact = exact};
    if (fronts_.back().empty()) return Uncovered();
    int best = -1;  // all that is left at the end is one front, but for what nobody reads
    for (const auto& [front, state] : fronts_.back()) {
      if (best < 0 || states_[state].us < states_[best].us) best = state;
    }
    result.us = states_[best].us;
    for (int s = best; states_[s].parent >= 0; s = states_[s].parent) {
      result.cover.push_back(moves_[states_[s].move].proposal->candidate);
    }
    std::reverse(result.cover.begin(), result.cover.end());
    return result;
  }

  absl::Status Uncovered() const {
    absl::flat_hash_set<int> coverable;
    for (const Move& move : moves_) coverable.insert(move.nodes.begin(), move.nodes.end());
    for (size_t i = 0; i < order_.size(); ++i) {
      if (!coverable.contains(static_cast<int>(i))) return proposals_.Unrunnable(*order_[i]);
    }
    return absl::UnimplementedError("no choice of the proposals covers every node");
  }

  const Stretch& stretch_;
  const CostSearchLimits limits_;
  const Proposals proposals_;
  const std::vector<const Node*> order_;
  std::vector<Proposal> known_;  // of a known cover; filled once, then Moves point into it
  absl::flat_hash_map<const Node*, int> position_;
  absl::flat_hash_map<const Value*, int> index_;
  std::vector<ValueInfo> values_;
  std::vector<Move> moves_;
  std::vector<std::vector<int>> moves_from_;  // by lowest position
  bool was_cut_ = false;                      // some proposal was left out
  std::vector<State> states_;
  std::vector<Fronts> fronts_;  // by u
};

}  // namespace

absl::StatusOr<CostSearchResult> SearchCheapestCover(const Stretch& stretch,
                                                     const CostSearchLimits& limits) {
  return Search(stretch, limits).Run();
}

absl::StatusOr<std::vector<Candidate>> CostSearch(const Stretch& stretch) {
  ASSIGN_OR_RETURN(CostSearchResult result, SearchCheapestCover(stretch));
  if (stretch.remarks != nullptr) {
    stretch.remarks->push_back({"cost-search", absl::StrCat(stretch.nodes.size(), " nodes"),
                                absl::StrFormat("%d states, %.3f us predicted%s", result.states,
                                                result.us, result.exact ? "" : ", by the beam")});
  }
  return std::move(result.cover);
}

}  // namespace onnx_cudnn
