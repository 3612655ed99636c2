#include "runtime/plan/schedule.h"

#include <algorithm>

namespace onnx_cudnn {
namespace {

using Clock = std::vector<int>;

void Join(Clock& clock, const Clock& other) {
  for (size_t s = 0; s < clock.size(); ++s) clock[s] = std::max(clock[s], other[s]);
}

class Scheduler {
 public:
  Scheduler(absl::Span<const std::vector<int>> predecessors, int streams)
      : predecessors_(predecessors),
        last_(streams, -1),
        stream_(predecessors.size()),
        count_(predecessors.size()),
        clocks_(predecessors.size(), Clock(streams, 0)) {
    schedule_.streams = streams;
  }

  Schedule Run() && {
    for (int step = 0; step < static_cast<int>(predecessors_.size()); ++step) Place(step);
    return std::move(schedule_);
  }

 private:
  void Place(int step) {
    const int stream = ChooseStream(step);
    Clock& clock = clocks_[step];
    const int before = last_[stream];
    if (before >= 0) clock = clocks_[before];
    std::vector<int> waits = ChooseWaits(step, clock);
    count_[step] = clock[stream] = (before < 0 ? 0 : count_[before]) + 1;
    stream_[step] = stream;
    last_[stream] = step;
    schedule_.steps.push_back({step, stream, std::move(waits)});
  }

  // Prefers a stream that ends in a predecessor, which then needs no wait.
  int ChooseStream(int step) const {
    int latest = -1;
    for (int p : predecessors_[step]) {
      if (last_[stream_[p]] == p) latest = std::max(latest, p);
    }
    if (latest >= 0) return stream_[latest];
    return static_cast<int>(std::min_element(last_.begin(), last_.end()) - last_.begin());
  }

  // Goes back from the latest predecessor: the clock already includes what a later one waited for.
  std::vector<int> ChooseWaits(int step, Clock& clock) const {
    std::vector<int> latest_first = predecessors_[step];
    std::sort(latest_first.rbegin(), latest_first.rend());
    std::vector<int> waits;
    for (int p : latest_first) {
      if (clock[stream_[p]] >= count_[p]) continue;
      Join(clock, clocks_[p]);
      waits.push_back(p);
    }
    return waits;
  }

  absl::Span<const std::vector<int>> predecessors_;
  Schedule schedule_;
  std::vector<int> last_;            // by stream: its last Step, -1: none
  std::vector<int> stream_, count_;  // by Step; count: its position within its stream
  std::vector<Clock> clocks_;        // by Step
};

}  // namespace

Schedule MakeSchedule(absl::Span<const std::vector<int>> predecessors, int streams) {
  return Scheduler(predecessors, std::max(streams, 1)).Run();
}

StepOrder::StepOrder(const Schedule& schedule, int steps)
    : clock_(steps, Clock(schedule.streams, 0)),
      stream_(steps, 0),
      position_(steps, 0),
      streams_(schedule.streams) {
  std::vector<Clock> now(schedule.streams, Clock(schedule.streams, 0));
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const ScheduledStep& scheduled = schedule.steps[i];
    Clock& clock = now[scheduled.stream];
    for (int wait : scheduled.waits) Join(clock, clock_[wait]);
    ++clock[scheduled.stream];
    clock_[scheduled.step] = clock;
    stream_[scheduled.step] = scheduled.stream;
    position_[scheduled.step] = static_cast<int>(i);
  }
}

}  // namespace onnx_cudnn
