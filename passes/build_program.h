#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/partition/partitioners.h"
#include "passes/pass.h"
#include "runtime/graph/node_refusal.h"
#include "runtime/plan/program.h"

namespace onnx_cudnn {

// Milliseconds spent on the parts of building Programs.
struct BuildTimes {
  double bind_ms = 0;       // BindShapes without fold_ms
  double fold_ms = 0;       // folding constants while shapes are inferred
  double partition_ms = 0;  // the search for Partitions
  double compile_ms = 0;    // Confirm: compiling Steps; with a Pricer also measuring
  double plan_ms = 0;       // Reformats, schedule, memory plan
};

struct BuildOptions {
  Partitioner partitioner = Greedy;
  // Inputs with known values, by name: strings, and inputs whose values decide shapes. They become
  // constants; the static Graph keeps them as inputs without readers.
  std::map<std::string, HostTensor, std::less<>> input_values;
  int streams = 1;
  int64_t alignment = 256;  // bytes; for every buffer in an arena
  PassLimits limits;
  const OnnxFunctions* functions = nullptr;  // nullptr: no op is decomposed
  // Of decompose and the clean-up after it, by name.
  std::set<std::string, std::less<>> disabled_passes;
  std::vector<PinRule> pins;
  // nullptr: prices are predicted and the first Variant that compiles is taken.
  Pricer* pricer = nullptr;
  absl::Span<const AvoidedEngine> avoided_engines = {};  // as Stretch::avoided_engines
  std::string cover;                                     // as PartitionExtras::cover
  bool saves_cover = false;                              // sets Program::cover
  BuildTimes* times = nullptr;  // BuildProgram adds to it; nullptr: nothing is timed
  std::vector<Remark>* remarks = nullptr;
  // For BindShapes: receives every Node that it refuses, and the result is the Graph with them;
  // nullptr: the first one is the error.
  std::vector<NodeRefusal>* refusals = nullptr;
  // Bodies of If and Scan that run faster as Programs of their own on it (body_programs.h) do so:
  // BindShapes refuses such a Node (Unimplemented), CutGraph takes it out of the segment. nullptr:
  // every Node of static types stays.
  const Target* body_target = nullptr;
  // Called with the static Graph before Formats are materialized; may be empty.
  std::function<void(const Graph&, absl::Span<const Partition>, const Refusals&)> on_partitions;
};

// A static copy of `graph` for inputs of the given dims: infers shapes, folds constants,
// decomposes ops that no Engine runs, cleans up again, and gives each output a Value of its own.
//   target      for decompose; nullptr: no op is decomposed
//   input_dims  by input name; every input with a dim that is not a number needs an entry
//   errors      InvalidArgument: unknown input, wrong rank, a dim that contradicts the model's
//               number, one symbol with two numbers.
//               Unimplemented: the shape of a Value depends on data; strings that are not constant
//               are not constant
absl::StatusOr<Graph> BindShapes(const Graph& graph,
                                 const std::map<std::string, Dims, std::less<>>& input_dims,
                                 const BuildOptions& options, const Target* target = nullptr);

// The only way from a Graph and shapes to a Program.
//   errors  those of BindShapes and PartitionGraph; ResourceExhausted: above the Target's max_bytes
absl::StatusOr<std::shared_ptr<const Program>> BuildProgram(
    const Graph& graph, const std::map<std::string, Dims, std::less<>>& input_dims,
    const Target& target, const BuildOptions& options);

}  // namespace onnx_cudnn
