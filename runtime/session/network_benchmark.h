// Times whole networks. Times of single Candidates do not include the effect of one launch on the
// next, so the Programs of several search strategies are timed and the fastest is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
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
//   errors  Unimplemented: string inputs. Cancelled. Those of the Device
absl::StatusOr<std::vector<double>> TimeNetworks(
    absl::Span<const std::shared_ptr<const Program>> programs, Device& device, bool capture,
    Beside beside = Beside::kNothing, const std::atomic<bool>* cancel = nullptr);

// The Program that a search strategy found.
struct StrategyResult {
  const SearchStrategy* strategy;
  std::shared_ptr<const Program> program;
  absl::StatusOr<double> ms;  // of one run, or why the Programs were not timed
};

// Builds a Program with every search strategy, times those that differ and returns the fastest; if
// timing fails, the first one.
//   first       the Program of the first strategy
//   build       measurements of one build may change the choices of another, so all Programs are
//               rebuilt until measured(), the number of measured signatures, stays constant
//   errors      those of `build`; FailedPrecondition: the device is lost
absl::StatusOr<StrategyResult> BenchmarkStrategies(
    std::shared_ptr<const Program> first,
    absl::FunctionRef<absl::StatusOr<std::shared_ptr<const Program>>(const SearchStrategy&)> build,
    absl::FunctionRef<int()> measured, const Target& target, Device& device, bool capture);

}  // namespace onnx_cudnn
