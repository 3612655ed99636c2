#include "runtime/session/optimized_graph.h"

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/base/host_span.h"
#include "runtime/base/status.h"
#include "runtime/session/check_border.h"
#include "runtime/session/check_options.h"

namespace onnx_cudnn {

absl::StatusOr<OptimizedGraph> OptimizeGraph(Graph graph, const SessionOptions& options,
                                             const Target& target) {
  RETURN_IF_ERROR(CheckBorder(graph));
  const HostScope scope("optimize");
  const absl::Time start = absl::Now();
  OptimizedGraph optimized{.graph = std::move(graph),
                           .compute_capability = target.info.compute_capability};
  // Before passes reorder Nodes, so that equal seeds give equal numbers whatever the passes do.
  optimized.random = std::make_unique<const RandomStreams>(optimized.graph);
  PassContext context{.target = &target, .keep_f32 = options.keep_f32};
  PassManagerOptions manager{.reports_progress = true};
  manager.disabled.insert(options.disabled_passes.begin(), options.disabled_passes.end());
  const auto passes = MakePipeline(options.optimization_level, ProductType(options.precision));
  RETURN_IF_ERROR(RunPasses(optimized.graph, passes, manager, context).status());
  RETURN_IF_ERROR(CheckBorder(optimized.graph));  // the passes infer further types
  optimized.ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  return optimized;
}

}  // namespace onnx_cudnn
