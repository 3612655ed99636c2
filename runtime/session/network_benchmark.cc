#include "runtime/session/network_benchmark.h"

#include <algorithm>
#include <limits>
#include <utility>

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
// Runs of this length may be limited by the GPU's power, which takes tenths of a second to show:
// half a second for each Program, of which the first round only warms the GPU up.
constexpr double kLongRunMs = 2, kLongRoundMs = 170;
constexpr int64_t kBlockBytes = int64_t{1} << 20;  // pinned at once

// A Program with its own memory.
class Runner {
 public:
  static absl::StatusOr<Runner> Create(std::shared_ptr<const Program> program, Device& device,
                                       ConstantStore& constants, bool capture, Beside beside) {
    Runner runner(beside);
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

  bool is_long() const { return beside_ == Beside::kNothing && last_ms_ >= kLongRunMs; }

  // The median over the runs of one round, which takes `most_ms` unless that is for too few runs.
  absl::StatusOr<double> MedianMs(double most_ms) {
    const double round_ms = std::min(is_long() ? kLongRoundMs : kRoundMs, most_ms);
    double runs = std::max(round_ms / last_ms_, kLeastRuns);
    if (!is_long()) runs = std::min(runs, kMostRuns);
    ASSIGN_OR_RETURN(std::vector<double> ms,
                     executor_->Time(inputs_, outputs_, static_cast<int>(runs)));
    std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
    return last_ms_ = std::max(ms[ms.size() / 2], 1e-3);
  }

 private:
  explicit Runner(Beside beside) : beside_(beside) {}

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

  Beside beside_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::unique_ptr<Executor> executor_;
  double last_ms_ = kRoundMs;
};

}  // namespace

absl::StatusOr<std::vector<double>> TimeNetworks(
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
    ASSIGN_OR_RETURN(Runner runner, Runner::Create(program, device, constants, capture, beside));
    runners.push_back(std::move(runner));
  }
  std::vector<double> least(programs.size(), std::numeric_limits<double>::infinity());
  for (int turn = 0, turns = kRounds * static_cast<int>(runners.size()); turn < turns; ++turn) {
    RETURN_IF_ERROR(check());
    const size_t i = turn % runners.size();
    const double left_ms = absl::ToDoubleMilliseconds(until - absl::Now());
    ASSIGN_OR_RETURN(const double ms, runners[i].MedianMs(std::max(left_ms, 0.0) / (turns - turn)));
    const bool is_first_round = turn < static_cast<int>(runners.size());
    if (!is_first_round || !runners[i].is_long()) least[i] = std::min(least[i], ms);
  }
  return least;
}

absl::StatusOr<StrategyResult> BenchmarkStrategies(absl::Span<const StrategyProgram> programs,
                                                   Device& device, bool capture, absl::Time until) {
  std::vector<ProgramPtr> all;
  for (const StrategyProgram& p : programs) all.push_back(p.program);
  const absl::StatusOr<std::vector<double>> ms =
      TimeNetworks(all, device, capture, Beside::kNothing, /*cancel=*/nullptr, until);
  if (absl::IsFailedPrecondition(ms.status()) || absl::IsCancelled(ms.status())) return ms.status();
  if (!ms.ok()) return StrategyResult{programs[0], ms.status()};
  const size_t best = std::min_element(ms->begin(), ms->end()) - ms->begin();
  return StrategyResult{programs[best], (*ms)[best]};
}

}  // namespace onnx_cudnn
