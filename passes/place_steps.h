#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// The placed Steps of a Program and their schedule.
struct Placed {
  std::vector<PlacedStep> steps;  // parallel to the Partitions
  Schedule schedule;
  MemoryPlan memory, host_memory;
  int64_t peak_bytes = 0;
};

// Assigns memory to every operand. Graph inputs and outputs use the caller's tensors. The output of
// a view shares its input; the inputs of a Concat without a launch share its output; an output that
// may overwrite an input does so if nothing reads the input later. Everything else lies in one
// arena per Space.
//   partitions    in topological order, of a Graph whose outputs are distinct Values (own-outputs);
//                 each has a Step
//   predecessors  of each Partition; all have smaller indices
//   errors        Internal: a Step requires a graph output to share another Value's bytes, or an
//                 input to share an output that is already placed elsewhere
absl::StatusOr<Placed> PlaceSteps(const Graph& graph, absl::Span<const Partition> partitions,
                                  absl::Span<const std::vector<int>> predecessors, int streams,
                                  int64_t alignment);

}  // namespace onnx_cudnn
