// Times whole networks. Times of single Candidates do not include the effect of one launch on the
// next, so the Programs of several search strategies are timed and the fastest is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/exec/device.h"
#include "runtime/plan/program.h"
#include "runtime/session/search_strategies.h"

namespace onnx_cudnn {

// Whether Runs may go on during a measurement. Beside them rounds stay short: what a round has
// enqueued keeps the GPU from a Run that begins.
enum class Beside : uint8_t { kNothing, kRuns };

// One run of a Program.
struct NetworkTime {
  double ms = 0;
  std::optional<double> joules = {};  // nullopt: not timed under load, or the Device counts none
};

// Times each Program on seeded inputs, in rounds in which Programs alternate.
// 1. Short rounds, beside nothing with an idle GPU's clock: the minimum over three rounds of the
//    median of a round.
// 2. Beside nothing, if the fastest takes 0.2 ms or more, power may limit the clock, which takes
//    tenths of a second to show. The fastest runs for a quarter of a second, which warms up; this
//    step ends if the Device tells that it uses less than 70 % of its limit. Those within 15 % of
//    the fastest are timed again, each for half a second, whose mean counts; of them only the
//    fastest, but two or more, where the time is too short for all. The others' times become longer
//    by what the fastest's became.
// All Programs are resident at once, each with its arena, inputs and outputs, and a second copy of
// the weights.
//   cancel  checked before each Program of each round; may be null
//   until   when it should end: rounds become as short as that requires, and then each Program runs
//           three times
//   errors  Unimplemented: string inputs. Cancelled. Those of the Device
absl::StatusOr<std::vector<NetworkTime>> TimeNetworks(
    absl::Span<const std::shared_ptr<const Program>> programs, Device& device, bool capture,
    Beside beside = Beside::kNothing, const std::atomic<bool>* cancel = nullptr,
    absl::Time until = absl::InfiniteFuture());

// The Program that a search strategy found.
struct StrategyProgram {
  const SearchStrategy* strategy = nullptr;
  std::shared_ptr<const Program> program;
};
struct StrategyResult {
  StrategyProgram fastest;
  absl::StatusOr<NetworkTime> time;  // or why the Programs were not timed
};

// The fastest of `programs`, of which there is at least one; if timing fails, the first one.
//   until   as for TimeNetworks
//   errors  FailedPrecondition: the device is lost; Cancelled
absl::StatusOr<StrategyResult> BenchmarkStrategies(absl::Span<const StrategyProgram> programs,
                                                   Device& device, bool capture, absl::Time until);

}  // namespace onnx_cudnn
