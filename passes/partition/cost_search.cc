// The cheapest cover by dynamic programming over one fixed depth-first order. A state is the first
// uncovered Node u, the covered Nodes beyond u, and the Placements in which live Values exist or
// are required. Every Candidate whose lowest Node is u leads to a later state, so states are final
// in the order of u.
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
#include "passes/partition/cover_moves.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

// A Value that exists and still has readers, or that is required and does not exist yet.
struct Live {
  int value;
  int made_as;  // -1: does not exist yet
  PlacementSet placements;
  bool operator==(const Live&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Live& l) {
    return H::combine(std::move(h), l.value, l.made_as, l.placements);
  }
};

// Two states with the same u are equal if these are equal.
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
  int parent;  // -1: the initial state
  int move;
  bool on_known_path;  // reached by moves of a known cover only, or at no higher cost
};

class Search {
 public:
  Search(const Stretch& stretch, const CostSearchLimits& limits)
      : stretch_(stretch), limits_(limits), moves_(stretch, limits.proposals) {}

  absl::StatusOr<CostSearchResult> Run() {
    const int64_t per_node =
        int64_t{limits_.states_per_node} * static_cast<int>(moves_.order().size());
    if (!moves_.was_cut() && Explore(std::max<int64_t>(per_node, limits_.least_states), {})) {
      return Result(/*exact=*/true);
    }
    ASSIGN_OR_RETURN(const std::vector<Candidate> known, Greedy(stretch_));
    Explore(std::numeric_limits<int64_t>::max(), moves_.MovesOf(known));
    return Result(/*exact=*/false);
  }

 private:
  // Visits all states in the order of u; false: there are more than `most_states`. With a known
  // cover, keeps only the cheapest states and those on its path at each u.
  bool Explore(int64_t most_states, const absl::flat_hash_set<int>& known) {
    const size_t n = moves_.order().size();
    states_.clear();
    fronts_.assign(n + 1, {});
    Front start;
    for (int v = 0; v < static_cast<int>(moves_.values().size()); ++v) {
      const PlacementSet demanded = moves_.values()[v].demanded;
      if (demanded != 0) start.live.push_back({v, -1, demanded});
    }
    states_.push_back({0, -1, -1, true});
    fronts_[0].push_back({std::move(start), 0});
    for (size_t u = 0; u < n; ++u) {
      Settle(fronts_[u], known.empty() ? 0 : limits_.beam);
      for (const auto& [front, state] : fronts_[u]) {
        const int position = static_cast<int>(u);
        for (const int move : moves_.From(position)) Take(front, state, position, move, known);
      }
      fronts_[u] = {};
      if (static_cast<int64_t>(states_.size()) > most_states) return false;
    }
    Settle(fronts_[n], 0);
    return true;
  }

  using Fronts = std::vector<std::pair<Front, int>>;

  // Keeps the cheapest of equal fronts, then the `beam` cheapest fronts (0: all) and the known
  // path.
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
    // A hash table has no fixed order, so the states are sorted by number, which is the order of
    // creation.
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
    const CoverMove& move = moves_.at(index);
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

  // The cost of reading a Value in this Placement; a Value that does not exist yet is marked as
  // required in it.
  double Read(std::vector<Live>& live, const Port& port) {
    const CoverValue& info = moves_.values()[port.value];
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

  // The cost of the Reformats to all required Placements.
  double Make(std::vector<Live>& live, const Port& port) {
    auto it = Find(live, port.value);
    if (it == live.end() || it->value != port.value) it = live.insert(it, {port.value, -1, 0});
    it->made_as = port.placement;
    const PlacementSet wanted = it->placements & ~(PlacementSet{1} << port.placement);
    it->placements |= PlacementSet{1} << port.placement;
    double us = 0;
    for (PlacementSet left = wanted; left != 0; left &= left - 1) {
      us += Us(moves_.values()[port.value], port.placement, std::countr_zero(left));
    }
    return us;
  }

  double Us(const CoverValue& info, int from, int to) const {
    return ReformatUs(*info.value, info.placements[from], info.placements[to],
                      stretch_.target.info);
  }

  bool IsOver(const Live& live, const Front& front, int u) const {
    if (live.made_as < 0) return false;
    const std::vector<int>& readers = moves_.values()[live.value].readers;
    for (auto it = readers.rbegin(); it != readers.rend() && *it >= u; ++it) {
      if (!std::binary_search(front.beyond.begin(), front.beyond.end(), *it)) return false;
    }
    return true;
  }

  absl::StatusOr<CostSearchResult> Result(bool exact) const {
    CostSearchResult result{.states = static_cast<int>(states_.size()), .exact = exact};
    if (fronts_.back().empty()) return moves_.Uncovered();
    int best = -1;  // fronts at the end differ only in Values without readers
    for (const auto& [front, state] : fronts_.back()) {
      if (best < 0 || states_[state].us < states_[best].us) best = state;
    }
    result.us = states_[best].us;
    for (int s = best; states_[s].parent >= 0; s = states_[s].parent) {
      result.cover.push_back(moves_.at(states_[s].move).proposal->candidate);
    }
    std::reverse(result.cover.begin(), result.cover.end());
    return result;
  }

  const Stretch& stretch_;
  const CostSearchLimits limits_;
  CoverMoves moves_;
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
