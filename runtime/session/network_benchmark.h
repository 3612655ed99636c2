// Times whole networks. Times of single Candidates do not include the effect of one launch on the
// next, so the Programs of several search strategies are timed and the fastest is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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

// Milliseconds of a run of each Program on seeded inputs: the minimum over a few rounds of the
// median per round; Programs alternate within a round. Beside nothing, rounds of runs that take
// milliseconds last longer, until the GPU's clock is the one under load. All Programs are resident
// at once, each with its arena, inputs and outputs, and a second copy of the weights.
//   cancel  checked before each Program of each round; may be null
//   until   when it should end: rounds become as short as that requires, but for a few runs
//   errors  Unimplemented: string inputs. Cancelled. Those of the Device
absl::StatusOr<std::vector<double>> TimeNetworks(
    absl::Span<const std::shared_ptr<const Program>> programs, Device& device, bool capture,
    Beside beside = Beside::kNothing, const std::atomic<bool>* cancel = nullptr,
    absl::Time until = absl::InfiniteFuture());

// The Program that a search strategy found.
struct StrategyProgram {
  const SearchStrategy* strategy;
  std::shared_ptr<const Program> program;
};
struct StrategyResult {
  StrategyProgram fastest;
  absl::StatusOr<double> ms;  // of one run, or why the Programs were not timed
};

// The fastest of `programs`, of which there is at least one; if timing fails, the first one.
//   until   as for TimeNetworks
//   errors  FailedPrecondition: the device is lost; Cancelled
absl::StatusOr<StrategyResult> BenchmarkStrategies(absl::Span<const StrategyProgram> programs,
                                                   Device& device, bool capture, absl::Time until);

}  // namespace onnx_cudnn
