#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// When and where Steps run.
struct Placed {
  std::vector<PlacedStep> steps;  // parallel to the Partitions
  Schedule schedule;
  MemoryPlan memory, host_memory;
  int64_t peak_bytes = 0;
};

// Gives every operand its bytes. Graph inputs and outputs lie in the caller's tensors, the output
// of a view in its input, the inputs of a Concat without a launch in its output, an output that may
// overwrite an input in that input where nothing reads it later, all else in one arena per Space.
//   partitions    in topological order, of a Graph whose outputs are its own (own-outputs); every
//   one has a Step
//   predecessors  of each Partition, all smaller
//   errors        Internal: a Step demands that a graph output lie in another Value's bytes, or
//   that an input lie in its output that lies elsewhere already
absl::StatusOr<Placed> PlaceSteps(const Graph& graph, absl::Span<const Partition> partitions,
                                  absl::Span<const std::vector<int>> predecessors, int streams,
                                  int64_t alignment);

}  // namespace onnx_cudnn
