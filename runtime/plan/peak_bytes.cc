#include <algorithm>

#include "runtime/plan/buffer_groups.h"

namespace onnx_cudnn {
namespace {

// Sums, per stream, the live bytes at each of its Steps.
class LiveBytes {
 public:
  explicit LiveBytes(const StepOrder& order) : order_(order), steps_of_(order.streams()) {
    std::vector<int> step_at(order.steps());
    for (int step = 0; step < order.steps(); ++step) step_at[order.position(step)] = step;
    for (int step : step_at) steps_of_[order.stream(step)].push_back(step);
    for (const std::vector<int>& steps : steps_of_) changes_.emplace_back(steps.size() + 1, 0);
  }

  // A group is live at a Step if some write is at or before it and some use at or after it.
  void Add(const Group& group) {
    for (int s = 0; s < order_.streams(); ++s) {
      int begin = static_cast<int>(steps_of_[s].size()), end = 0;
      for (int w : group.writers) begin = std::min(begin, FirstThatKnows(w, s));
      for (int w : group.writers) end = std::max(end, order_.clock(w, s));
      for (int r : group.readers) end = std::max(end, order_.clock(r, s));
      if (begin >= end) continue;
      changes_[s][begin] += group.bytes;
      changes_[s][end] -= group.bytes;
    }
  }

  int64_t Largest() const {
    int64_t largest = 0;
    for (const std::vector<int64_t>& changes : changes_) {
      int64_t bytes = 0;
      for (int64_t change : changes) largest = std::max(largest, bytes += change);
    }
    return largest;
  }

 private:
  // The index, among the Steps of `stream`, of the first one that is `step` or happens after it.
  int FirstThatKnows(int step, int stream) const {
    const int of = order_.stream(step), count = order_.clock(step, of);
    const std::vector<int>& steps = steps_of_[stream];
    auto at = std::partition_point(steps.begin(), steps.end(),
                                   [&](int s) { return order_.clock(s, of) < count; });
    return static_cast<int>(at - steps.begin());
  }

  const StepOrder& order_;
  std::vector<std::vector<int>> steps_of_;     // by stream, in launch order
  std::vector<std::vector<int64_t>> changes_;  // by stream and Step: change of live bytes
};

}  // namespace

int64_t LargestLiveBytes(absl::Span<const Group> groups, const StepOrder& order) {
  LiveBytes live(order);
  for (const Group& group : groups) live.Add(group);
  return live.Largest();
}

int64_t PeakBytes(absl::Span<const Buffer> buffers, const StepOrder& order) {
  absl::StatusOr<std::vector<Root>> roots = FindRoots(buffers, order);
  if (!roots.ok()) return 0;  // PlanMemory returns the error
  return LargestLiveBytes(MergeAliases(buffers, *roots), order);
}

}  // namespace onnx_cudnn
