#include "runtime/session/network_benchmark.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/exec/constant_store.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/seeded_numbers.h"

namespace onnx_cudnn {
namespace {

using ProgramPtr = std::shared_ptr<const Program>;

constexpr int kRounds = 3;
constexpr double kRoundMs = 20;
constexpr double kLeastRuns = 3, kMostRuns = 20;  // runs per round
// Runs of this length may be limited by the GPU's power.
constexpr double kLongRunMs = 0.2;
// Of its limit: a GPU that uses less is not held back. The counter moves in steps of up to a tenth
// of a second, of the quarter that is measured.
constexpr double kNearTheLimit = 0.7;
constexpr double kLoadedRoundMs = 250;
constexpr double kRivalShare = 1.15;               // of the fastest's time
constexpr int64_t kBlockBytes = int64_t{1} << 20;  // pinned at once

// Runs back to back.
struct Loaded {
  int runs = 0;
  double ms = 0, joules = 0;
  bool has_joules = true;
};

// A Program with its own memory.
class Runner {
 public:
  static absl::StatusOr<Runner> Create(std::shared_ptr<const Program> program, Device& device,
                                       ConstantStore& constants, bool capture) {
    Runner runner;
    const Graph& graph = program->graph;
    for (const Value* input : graph.inputs()) RETURN_IF_ERROR(runner.AddInput(*input, device));
    for (const GraphOutput& output : graph.outputs()) {
      ASSIGN_OR_RETURN(runner.memory_.emplace_back(),
                       device.Allocate(output.value->bytes(), Space::kDevice));
      runner.outputs_.push_back(runner.memory_.back().get());
    }
    ASSIGN_OR_RETURN(runner.executor_,
                     Executor::Create(std::move(program), device, constants,
                                      {.capture = capture, .fixed_pointers = true}));
    return runner;
  }

  // The median over the runs of one short round, which takes `most_ms` unless that is for too few
  // runs.
  absl::StatusOr<double> MedianMs(double most_ms) {
    const double runs = std::clamp(std::min(kRoundMs, most_ms) / last_ms_, kLeastRuns, kMostRuns);
    ASSIGN_OR_RETURN(std::vector<double> ms,
                     executor_->Time(inputs_, outputs_, static_cast<int>(runs)));
    std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
    return last_ms_ = std::max(ms[ms.size() / 2], 1e-3);
  }

  // Runs back to back for `ms`.
  absl::Status Load(double ms, Device& device, Loaded& loaded) {
    const auto runs = static_cast<int>(std::max(ms / last_ms_, kLeastRuns));
    const std::optional<double> before = device.Joules();
    ASSIGN_OR_RETURN(const std::vector<double> each, executor_->Time(inputs_, outputs_, runs));
    const std::optional<double> after = device.Joules();
    loaded.runs += runs;
    loaded.ms += std::accumulate(each.begin(), each.end(), 0.0);
    loaded.has_joules &= before.has_value() && after.has_value();
    if (loaded.has_joules) loaded.joules += *after - *before;
    return absl::OkStatus();
  }

 private:
  // Adds an input of numbers like those of real runs: a GPU needs less power for zeros. Indices are
  // 0, which is always in range.
  absl::Status AddInput(const Value& input, Device& device) {
    if (input.dtype() == DType::kString) {
      return absl::UnimplementedError("networks with inputs of strings are not timed");
    }
    const int64_t bytes = input.bytes();
    ASSIGN_OR_RETURN(memory_.emplace_back(), device.Allocate(bytes, Space::kDevice));
    inputs_.push_back(memory_.back().get());
    if (bytes == 0) return absl::OkStatus();
    const int64_t block = std::min(bytes, kBlockBytes);
    ASSIGN_OR_RETURN(const auto numbers, device.Allocate(block, Space::kHost));
    std::fill_n(numbers.get(), block, std::byte{0});
    WriteSeededNumbers(input.dtype(), block * 8 / BitsOf(input.dtype()), inputs_.size(),
                       IndexValues::kZero, numbers.get());
    ASSIGN_OR_RETURN(const auto streams, device.CreateStreams(1));
    absl::Status copied = absl::OkStatus();
    for (int64_t at = 0; at < bytes && copied.ok(); at += block) {
      copied =
          streams->Copy(0, memory_.back().get() + at, numbers.get(), std::min(block, bytes - at));
    }
    const absl::Status done = streams->Synchronize();
    RETURN_IF_ERROR(copied);
    return done;
  }

  Runner() = default;

  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::unique_ptr<Executor> executor_;
  double last_ms_ = kRoundMs;
};

using Check = absl::FunctionRef<absl::Status()>;

double LeftMs(absl::Time until) {
  return std::max(absl::ToDoubleMilliseconds(until - absl::Now()), 0.0);
}

// Those to time under load, the fastest first: within kRivalShare of it, and as many as the time
// suffices for two full rounds each, at least two.
std::vector<size_t> Rivals(const std::vector<NetworkTime>& times, absl::Time until) {
  std::vector<size_t> rivals(times.size());
  std::iota(rivals.begin(), rivals.end(), size_t{0});
  std::stable_sort(rivals.begin(), rivals.end(),
                   [&](size_t a, size_t b) { return times[a].ms < times[b].ms; });
  const double most_ms = kRivalShare * times[rivals[0]].ms;
  const double rounds = LeftMs(until) / kLoadedRoundMs - 1;  // one warms up
  std::erase_if(rivals, [&](size_t i) { return times[i].ms > most_ms; });
  const double most = std::max(2.0, rounds / 2);
  rivals.resize(static_cast<size_t>(std::min(static_cast<double>(rivals.size()), most)));
  return rivals;
}

// Whether what ran back to back used so little power that its limit cannot hold back the clock.
bool IsFarFromPowerLimit(const Loaded& loaded, const Device& device) {
  const std::optional<double> limit = device.PowerLimitWatts();
  if (!loaded.has_joules || !limit.has_value()) return false;
  return 1e3 * loaded.joules / loaded.ms < kNearTheLimit * *limit;
}

// The first step of TimeNetworks. Every Program has one round whatever the time.
absl::Status TimeShort(std::vector<Runner>& runners, Check check, absl::Time until,
                       std::vector<NetworkTime>& times) {
  const size_t turns = kRounds * runners.size();
  for (size_t turn = 0; turn < turns; ++turn) {
    RETURN_IF_ERROR(check());
    const size_t i = turn % runners.size();
    const bool is_first = turn < runners.size();
    if (!is_first && LeftMs(until) == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const double ms,
                     runners[i].MedianMs(LeftMs(until) / static_cast<double>(turns - turn)));
    times[i].ms = is_first ? ms : std::min(times[i].ms, ms);
  }
  return absl::OkStatus();
}

// The second step.
absl::Status TimeLoaded(std::vector<Runner>& runners, Device& device, Check check, absl::Time until,
                        std::vector<NetworkTime>& times) {
  const std::vector<size_t> rivals = Rivals(times, until);
  const size_t fastest = rivals[0];
  const double fastest_ms = times[fastest].ms;
  if (fastest_ms < kLongRunMs) return absl::OkStatus();
  std::vector<Loaded> loaded(times.size());
  Loaded warm_up;
  const size_t turns = 1 + 2 * rivals.size();
  for (size_t turn = 0; turn < turns; ++turn) {
    RETURN_IF_ERROR(check());
    const double ms = std::min(kLoadedRoundMs, LeftMs(until) / static_cast<double>(turns - turn));
    if (ms == 0) return absl::OkStatus();  // the short rounds count
    const size_t i = turn == 0 ? fastest : rivals[(turn - 1) % rivals.size()];
    RETURN_IF_ERROR(runners[i].Load(ms, device, turn == 0 ? warm_up : loaded[i]));
    if (turn == 0 && IsFarFromPowerLimit(warm_up, device)) {
      times[fastest].joules = warm_up.joules / warm_up.runs;
      return absl::OkStatus();
    }
  }
  const double slowdown = loaded[fastest].ms / loaded[fastest].runs / fastest_ms;
  for (size_t i = 0; i < times.size(); ++i) {
    const Loaded& l = loaded[i];
    times[i].ms = l.runs == 0 ? times[i].ms * slowdown : l.ms / l.runs;
    if (l.runs > 0 && l.has_joules) times[i].joules = l.joules / l.runs;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<NetworkTime>> TimeNetworks(
    absl::Span<const std::shared_ptr<const Program>> programs, Device& device, bool capture,
    Beside beside, const std::atomic<bool>* cancel, absl::Time until) {
  const auto check = [&] {
    const bool cancelled = cancel != nullptr && *cancel;
    return cancelled ? absl::CancelledError("timing of whole networks") : CheckCancelled();
  };
  ConstantStore constants(device);  // freed together with the forms that only slower Programs need
  std::vector<Runner> runners;
  for (const auto& program : programs) {
    RETURN_IF_ERROR(check());
    ASSIGN_OR_RETURN(Runner runner, Runner::Create(program, device, constants, capture));
    runners.push_back(std::move(runner));
  }
  std::vector<NetworkTime> times(programs.size());
  RETURN_IF_ERROR(TimeShort(runners, check, until, times));
  if (beside == Beside::kNothing) {
    RETURN_IF_ERROR(TimeLoaded(runners, device, check, until, times));
  }
  return times;
}

absl::StatusOr<StrategyResult> BenchmarkStrategies(absl::Span<const StrategyProgram> programs,
                                                   Device& device, bool capture, absl::Time until) {
  std::vector<ProgramPtr> all;
  for (const StrategyProgram& p : programs) all.push_back(p.program);
  const absl::StatusOr<std::vector<NetworkTime>> times =
      TimeNetworks(all, device, capture, Beside::kNothing, /*cancel=*/nullptr, until);
  const absl::Status& status = times.status();
  if (absl::IsFailedPrecondition(status) || absl::IsCancelled(status)) return status;
  if (!times.ok()) return StrategyResult{programs[0], status};
  const auto best =
      std::min_element(times->begin(), times->end(),
                       [](const NetworkTime& a, const NetworkTime& b) { return a.ms < b.ms; });
  return StrategyResult{programs[best - times->begin()], *best};
}

}  // namespace onnx_cudnn
