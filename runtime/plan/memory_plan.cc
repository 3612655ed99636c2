#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/plan/buffer_groups.h"

namespace onnx_cudnn {
namespace {

constexpr size_t kGreedyLimit = 4096;  // number of buffers; the search is quadratic
constexpr int64_t kMaxArenaBytes = int64_t{1} << 62;

// The groups with bytes, each rounded up to the alignment.
struct Problem {
  std::vector<int> groups;
  std::vector<int64_t> bytes;  // by group
  int64_t lower_bound = 0;     // lower bound of the arena
  const Lifetimes& lifetimes;
  const StepOrder& order;
};

struct Placing {
  std::vector<int64_t> offsets;  // by group
  int64_t arena_bytes = 0;
};

std::vector<int> InStepOrder(const Problem& problem) {
  std::vector<int> groups = problem.groups;
  std::stable_sort(groups.begin(), groups.end(), [&](int a, int b) {
    return std::make_pair(problem.lifetimes.first(a), -problem.bytes[a]) <
           std::make_pair(problem.lifetimes.first(b), -problem.bytes[b]);
  });
  return groups;
}

class FreeList {
 public:
  int64_t Take(int64_t bytes) {
    auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return Extend(bytes);
    const auto [size, offset] = *fit;
    Erase(offset, size);
    if (size > bytes) Insert(offset + bytes, size - bytes);
    return offset;
  }

  void Give(int64_t offset, int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      const int64_t size = next->second;
      Erase(offset + bytes, size);
      bytes += size;
    }
    auto before = by_offset_.lower_bound(offset);
    if (before != by_offset_.begin()) {
      const auto [start, size] = *std::prev(before);
      if (start + size == offset) {
        Erase(start, size);
        offset = start;
        bytes += size;
      }
    }
    Insert(offset, bytes);
  }

  int64_t end() const { return end_; }

 private:
  int64_t Extend(int64_t bytes) {
    int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [start, size] = *by_offset_.rbegin();
      if (start + size == end_) {
        offset = start;
        Erase(start, size);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void Insert(int64_t offset, int64_t size) {
    by_offset_[offset] = size;
    by_size_.insert({size, offset});
  }
  void Erase(int64_t offset, int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<int64_t, int64_t> by_offset_;           // size by offset
  std::set<std::pair<int64_t, int64_t>> by_size_;  // size, offset
  int64_t end_ = 0;
};

// On one stream a lifetime is an interval, and bytes are free again once it has ended.
Placing BestFitOnOneStream(const Problem& problem) {
  Placing placing{.offsets = std::vector<int64_t>(problem.bytes.size(), 0)};
  using LastUse = std::pair<int, int>;  // position, group
  std::priority_queue<LastUse, std::vector<LastUse>, std::greater<>> live;
  FreeList free;
  for (int group : InStepOrder(problem)) {
    const int done = problem.lifetimes.known(group, 0);
    for (; !live.empty() && live.top().first <= done; live.pop()) {
      const int over = live.top().second;
      free.Give(placing.offsets[over], problem.bytes[over]);
    }
    placing.offsets[group] = free.Take(problem.bytes[group]);
    live.push({problem.lifetimes.last(group, 0), group});
  }
  placing.arena_bytes = free.end();
  return placing;
}

// The placed groups, by offset.
class Placed {
 public:
  explicit Placed(const Problem& problem)
      : problem_(problem), placing_{.offsets = std::vector<int64_t>(problem.bytes.size(), 0)} {}

  // Places `group` in the smallest gap between groups that it must not share bytes with, or after
  // them.
  void Place(int group) {
    const int64_t bytes = problem_.bytes[group];
    int64_t end = 0, best = -1, best_gap = std::numeric_limits<int64_t>::max();
    for (int other : by_offset_) {
      if (problem_.lifetimes.MayShare(group, other)) continue;
      const int64_t offset = placing_.offsets[other];
      const int64_t gap = offset - end;
      if (gap >= bytes && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, offset + problem_.bytes[other]);
    }
    Insert(group, best >= 0 ? best : end);
  }

  template <typename IsOver>
  void Forget(const IsOver& is_over) {
    std::erase_if(by_offset_, is_over);
  }

  Placing Take() && { return std::move(placing_); }

 private:
  void Insert(int group, int64_t offset) {
    placing_.offsets[group] = offset;
    placing_.arena_bytes = std::max(placing_.arena_bytes, offset + problem_.bytes[group]);
    auto at = std::upper_bound(by_offset_.begin(), by_offset_.end(), offset,
                               [&](int64_t o, int g) { return o < placing_.offsets[g]; });
    by_offset_.insert(at, group);
  }

  const Problem& problem_;
  std::vector<int> by_offset_;
  Placing placing_;
};

// By group: the first position from which on every Step, on any stream, runs after the last use.
std::vector<int> PositionsWhenOver(const Problem& problem) {
  const StepOrder& order = problem.order;
  const int streams = order.streams(), steps = order.steps();
  std::vector<int> step_at(steps);
  for (int step = 0; step < steps; ++step) step_at[order.position(step)] = step;
  // known[s][p]: how many Steps of stream s have finished before any Step at position p or later.
  std::vector<std::vector<int>> known(streams, std::vector<int>(steps + 1));
  for (int s = 0; s < streams; ++s) {
    known[s][steps] = std::numeric_limits<int>::max();
    for (int p = steps; p-- > 0;) {
      const int itself = order.stream(step_at[p]) == s ? 1 : 0;
      known[s][p] = std::min(known[s][p + 1], order.clock(step_at[p], s) - itself);
    }
  }
  std::vector<int> over(problem.bytes.size(), 0);
  for (int group : problem.groups) {
    for (int s = 0; s < streams; ++s) {
      auto at =
          std::lower_bound(known[s].begin(), known[s].end(), problem.lifetimes.last(group, s));
      over[group] = std::max(over[group], static_cast<int>(at - known[s].begin()));
    }
  }
  return over;
}

Placing BestFitInStepOrder(const Problem& problem) {
  if (problem.order.streams() == 1) return BestFitOnOneStream(problem);
  const std::vector<int> over = PositionsWhenOver(problem);
  Placed placed(problem);
  for (int group : InStepOrder(problem)) {
    const int now = problem.lifetimes.first(group);
    placed.Forget([&](int other) { return over[other] <= now; });
    placed.Place(group);
  }
  return std::move(placed).Take();
}

// Places groups by descending `key`, each where it fits among those placed earlier.
template <typename Key>
Placing GreedyByLargest(const Problem& problem, const Key& key) {
  std::vector<int> groups = InStepOrder(problem);
  std::stable_sort(groups.begin(), groups.end(), [&](int a, int b) { return key(a) > key(b); });
  Placed placed(problem);
  for (int group : groups) placed.Place(group);
  return std::move(placed).Take();
}

Placing SmallestPlacing(const Problem& problem) {
  Placing best = BestFitInStepOrder(problem);
  if (best.arena_bytes == problem.lower_bound || problem.groups.size() > kGreedyLimit) return best;
  const auto keep_smaller = [&](Placing placing) {
    if (placing.arena_bytes < best.arena_bytes) best = std::move(placing);
  };
  keep_smaller(GreedyByLargest(problem, [&](int group) { return problem.bytes[group]; }));
  keep_smaller(GreedyByLargest(problem, [&](int group) { return problem.lifetimes.span(group); }));
  return best;
}

// Rounds the groups' bytes up to the alignment.
absl::Status Align(std::vector<Group>& groups, int64_t alignment) {
  int64_t left = kMaxArenaBytes;
  for (Group& group : groups) {
    if (group.bytes > left - alignment) {
      return absl::InvalidArgumentError("the buffers hold more than 2^62 bytes");
    }
    group.bytes = (group.bytes + alignment - 1) / alignment * alignment;
    left -= group.bytes;
  }
  return absl::OkStatus();
}

Problem MakeProblem(absl::Span<const Group> groups, const Lifetimes& lifetimes,
                    const StepOrder& order) {
  Problem problem{
      .lower_bound = LargestLiveBytes(groups, order), .lifetimes = lifetimes, .order = order};
  for (size_t i = 0; i < groups.size(); ++i) {
    problem.bytes.push_back(groups[i].bytes);
    const bool used = !groups[i].writers.empty() || !groups[i].readers.empty();
    if (groups[i].bytes > 0 && used) problem.groups.push_back(static_cast<int>(i));
  }
  return problem;
}

}  // namespace

absl::StatusOr<MemoryPlan> PlanMemory(absl::Span<const Buffer> buffers, const StepOrder& order,
                                      int64_t alignment) {
  if (alignment <= 0 || (alignment & (alignment - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("alignment ", alignment, " is not a power of two"));
  }
  ASSIGN_OR_RETURN(const std::vector<Root> roots, FindRoots(buffers, order));
  std::vector<Group> groups = MergeAliases(buffers, roots);
  RETURN_IF_ERROR(CheckReaders(buffers, roots, groups, order));
  RETURN_IF_ERROR(Align(groups, alignment));
  const Lifetimes lifetimes(groups, order);

  const Placing placing = SmallestPlacing(MakeProblem(groups, lifetimes, order));
  MemoryPlan plan{.offsets = {}, .arena_bytes = placing.arena_bytes};
  for (const Root& root : roots) {
    plan.offsets.push_back(placing.offsets[root.buffer] + root.offset);
  }
  return plan;
}

}  // namespace onnx_cudnn
