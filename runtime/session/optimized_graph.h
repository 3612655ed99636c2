#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "onnx_cudnn/session.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/random_draw.h"
#include "runtime/plan/engine.h"
#include "runtime/session/compiled_model.h"

namespace onnx_cudnn {

// A model after the passes that run once, when it is loaded.
struct OptimizedGraph {
  Graph graph;
  std::unique_ptr<const RandomStreams> random;
  int compute_capability = 0;  // of the target
  double ms = 0;               // that the passes took, or reading what they made
  // It was read from it, and the forms of weights come from it; nullptr: none.
  std::shared_ptr<const CompiledModel> compiled = nullptr;
  std::string note = {};  // what of a compiled model is not used, and why; empty: nothing
};

// Runs the passes that `options` ask for. Of `target` they read what the device is alone, not its
// Engines.
//   errors  those of CheckBorder and of the passes
absl::StatusOr<OptimizedGraph> OptimizeGraph(Graph graph, const SessionOptions& options,
                                             const Target& target);

}  // namespace onnx_cudnn
