// Times whole networks. Times of single Candidates leave out what one launch costs the next one, so
// the Programs of several search strategies are timed and the fastest is kept.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/exec/device.h"
#include "runtime/plan/program.h"
#include "runtime/session/search_strategies.h"

namespace onnx_cudnn {

// Milliseconds of a run of each Program over zeros: the least of the medians of a few rounds, in
// which the Programs alternate. All of them are held at once, each with its arena, inputs and
// outputs, and their weights once more.
//   cancel  looked at before each round of each Program; may be null
//   errors  Unimplemented: inputs of strings. Cancelled. Those of the Device
absl::StatusOr<std::vector<double>> TimeNetworks(
    absl::Span<const std::shared_ptr<const Program>> programs, Device& device, bool capture,
    const std::atomic<bool>* cancel = nullptr);

// The Program that a search strategy found.
struct StrategyResult {
  const SearchStrategy* strategy;
  std::shared_ptr<const Program> program;
  absl::StatusOr<double> ms;  // of a run, or why the Programs were not timed
};

// Builds a Program by every search strategy, times those that differ and returns the fastest; where
// timing fails, the first one.
//   first       the Program that the first strategy gives
//   build       what one build measures may change what another one chooses: all are built again
//               until measured(), which counts measured signatures, stays as it is
//   errors      those of `build`; FailedPrecondition: the device is lost
absl::StatusOr<StrategyResult> BenchmarkStrategies(
    std::shared_ptr<const Program> first,
    absl::FunctionRef<absl::StatusOr<std::shared_ptr<const Program>>(const SearchStrategy&)> build,
    absl::FunctionRef<int()> measured, const Target& target, Device& device, bool capture);

}  // namespace onnx_cudnn
