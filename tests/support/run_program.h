#pragma once

#include <map>
#include <string>
#include <vector>

#include "passes/build_program.h"
#include "runtime/exec/executor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

using InputDims = std::map<std::string, Dims, std::less<>>;

// A Target for the CPU device with these Engines.
Target TargetOf(std::vector<const Engine*> engines);

// Values for every input of a static Graph, equal in every run: small multiples of 1/4, so that
// sums are exact.
std::vector<HostTensor> MakeInputs(const Graph& graph);

// One Run of `executor` into new memory.
absl::StatusOr<std::vector<HostTensor>> RunOn(Executor& executor,
                                              absl::Span<const HostTensor> inputs);

// Builds the Program of `graph` with 1 to 3 streams, runs each on the CPU device in several
// interleaved orders with dead memory poisoned, and expects every output to equal Evaluate's.
// Returns the Program with one stream.
std::shared_ptr<const Program> ExpectRunsLikeEvaluate(const Graph& graph, const InputDims& dims,
                                                      const Target& target,
                                                      Partitioner partitioner = Greedy);

// The same with the Engines `host` and `view`.
std::shared_ptr<const Program> ExpectRunsLikeEvaluate(const Graph& graph,
                                                      const InputDims& dims = {});

// One line per Partition in launch order: host {Conv} stream 0.
std::string Partitions(const Program& program);

}  // namespace onnx_cudnn
