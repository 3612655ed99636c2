#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "passes/build_program.h"
#include "runtime/graph/graph.h"
#include "runtime/session/compile_model.h"
#include "runtime/tune/plan_cache.h"

namespace onnx_cudnn {

struct SelectedPlans {
  PlanFile file;
  bool has_partitions = false;  // the network's are among them
  std::string cover;            // if not: of what is chosen, as in CompiledModel::Cover
};

// The entries of `cache` that a Session with `options` needs for one Program on the GPU of
// `target`, whose Engines need not be there: those of the network and of its partitions; without an
// entry of the network those of the partitions that are chosen without measurements.
//   graph    optimized for the target
//   options  resolved for the target
//   errors   those of BuildProgram; none if the model is not one Program: then nothing is selected
absl::StatusOr<SelectedPlans> SelectPlans(const Graph& graph, const CompiledInputs& inputs,
                                          const Target& target, const SessionOptions& options,
                                          const PlanFile& cache);

}  // namespace onnx_cudnn
