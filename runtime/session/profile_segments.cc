#include "runtime/session/profile_segments.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "passes/explain/edges.h"
#include "runtime/base/host_span.h"
#include "runtime/base/status.h"
#include "runtime/session/profile_program.h"
#include "runtime/session/segments/segment_runner.h"

namespace onnx_cudnn {
namespace {

// A run of a Program, or of a Node between Programs.
struct Piece {
  std::shared_ptr<const ExecutorPool> pool;  // nullptr: of a Node
  RunTimeline timeline;                      // of a Program
  std::string node, op;
  double begin_us = 0, us = 0;  // of a Node
};

class SegmentTimer final : public RunTimer {
 public:
  absl::Status Run(const std::shared_ptr<ExecutorPool>& pool,
                   const std::vector<const void*>& inputs,
                   const std::vector<void*>& outputs) override {
    std::unique_ptr<Executor>& executor = executors_[pool];
    if (executor == nullptr) {
      ASSIGN_OR_RETURN(executor, pool->MakeMovingTimingExecutor());
    }
    RETURN_IF_ERROR(executor->Run(inputs, outputs));
    Piece& piece = pieces_.emplace_back(Piece{.pool = pool});
    ASSIGN_OR_RETURN(piece.timeline, executor->LastRun());
    return absl::OkStatus();
  }
  void NoteBetween(const Node& node, double begin_us, double us) override {
    pieces_.push_back({.node = NameOf(node), .op = node.op(), .begin_us = begin_us, .us = us});
  }

  // Those since the last call.
  std::vector<Piece> TakePieces() { return std::exchange(pieces_, {}); }
  bool all_captured() const {
    return std::all_of(executors_.begin(), executors_.end(),
                       [](const auto& item) { return item.second->is_captured(); });
  }
  std::string capture_note() const {
    for (const auto& [pool, executor] : executors_) {
      if (!executor->capture_note().empty()) return executor->capture_note();
    }
    return "";
  }

 private:
  std::map<std::shared_ptr<const ExecutorPool>, std::unique_ptr<Executor>> executors_;
  std::vector<Piece> pieces_;
};

bool AreAlike(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& x, const Piece& y) {
    return x.pool == y.pool && x.node == y.node;
  });
}

ProfiledStep BetweenStep(std::string engine, std::string name, std::string op, int segment) {
  return {.index = -1,
          .segment = segment,
          .engine = std::move(engine),
          .nodes = {std::move(name)},
          .ops = {std::move(op)}};
}

// The steps of a run, in its order.
class Steps {
 public:
  explicit Steps(const Target& target) : target_(target) {}

  void Describe(const std::vector<Piece>& pieces, RunProfile& profile) const {
    for (const Piece& piece : pieces) {
      if (piece.pool == nullptr) {
        profile.steps.push_back(BetweenStep("between", piece.node, piece.op, profile.segments));
        continue;
      }
      const Program& program = piece.pool->program();
      const int segment = profile.segments++;
      AddCopy(piece.timeline.bytes_in, "into the program", segment, profile);
      for (ProfiledStep& step : DescribeSteps(program, LaunchedSteps(program), target_)) {
        step.segment = segment;
        profile.steps.push_back(std::move(step));
      }
      AddCopy(piece.timeline.bytes_out, "out of the program", segment, profile);
      profile.streams = std::max(profile.streams, program.schedule.streams);
    }
  }

  // The times of these steps. An eager run may do without copies that replays need.
  //   last  the last run, of which Describe tells
  static ProfiledRun Timed(const std::vector<Piece>& pieces, const std::vector<Piece>& last) {
    ProfiledRun run{.begin_us = pieces.empty() ? HostClockUs() : BeginOf(pieces[0]),
                    .is_replay = true};
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      const double begin_us = BeginOf(piece) - run.begin_us;
      if (piece.pool == nullptr) {
        run.steps.push_back({begin_us, piece.us});
        continue;
      }
      const RunTimeline& timeline = piece.timeline;
      const auto add = [&](const RunTimeline::Span& span) {
        run.steps.push_back({begin_us + span.begin_us, span.us});
      };
      run.is_replay = run.is_replay && timeline.is_replay;
      if (last[i].timeline.bytes_in > 0) add(timeline.copies_in);
      for (const int index : LaunchedSteps(piece.pool->program())) add(timeline.steps[index]);
      if (last[i].timeline.bytes_out > 0) add(timeline.copies_out);
    }
    return run;
  }

 private:
  static double BeginOf(const Piece& piece) {
    return piece.pool == nullptr ? piece.begin_us : piece.timeline.begin_us;
  }
  static void AddCopy(int64_t bytes, std::string_view name, int segment, RunProfile& profile) {
    if (bytes == 0) return;
    ProfiledStep& step =
        profile.steps.emplace_back(BetweenStep("copy", std::string(name), "copy", segment));
    step.bytes = bytes;
  }

  const Target& target_;
};

}  // namespace

absl::StatusOr<RunProfile> ProfileSegments(const LoadedModel& model,
                                           const std::vector<const TensorView*>& inputs,
                                           const ProfileOptions& options) {
  RETURN_IF_ERROR(CheckRuns(options));
  const auto run = [&](RunTrace* trace) {
    std::vector<ModelValue> values;
    for (const TensorView* view : inputs) values.emplace_back(Tensor::Borrow(*view));
    return model.RunSegments(std::move(values), /*options=*/{}, trace).status();
  };
  const size_t runs = kProfileWarmUps + static_cast<size_t>(options.runs);
  std::vector<double> whole_us;
  for (size_t i = 0; i < runs; ++i) {
    const double begin_us = HostClockUs();
    RETURN_IF_ERROR(run(nullptr));
    if (i >= kProfileWarmUps) whole_us.push_back(HostClockUs() - begin_us);
  }
  RunProfile profile{.run_us = MedianOf(std::move(whole_us))};
  SegmentTimer timer;
  std::vector<std::vector<Piece>> timed;
  while (timed.size() < runs) {
    RunTrace trace{.timer = &timer};
    RETURN_IF_ERROR(run(&trace));
    timed.push_back(timer.TakePieces());
    if (!AreAlike(timed.front(), timed.back())) {
      return absl::UnimplementedError(
          "the programs of a run on these inputs differ from run to run, and such runs cannot be "
          "timed");
    }
  }
  for (const std::vector<Piece>& pieces : timed) {
    profile.runs.push_back(Steps::Timed(pieces, timed.back()));
  }
  Steps(model.device().target()).Describe(timed.back(), profile);
  profile.is_captured = timer.all_captured();
  profile.graph_note = timer.capture_note();
  AddMedians(profile);
  return profile;
}

}  // namespace onnx_cudnn
