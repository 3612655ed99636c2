// Cuts a Graph whose shapes depend on data: what can run now, and what needs its results.
#pragma once

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/build_program.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Graphs that run one after the other: the segment, the nodes, the rest. They pass Values on in
// numbered slots; the first slots are the inputs of the Graph that was cut.
struct GraphCut {
  struct Part {
    Graph graph;
    std::vector<int> inputs, outputs;  // slots, parallel to those of the Graph
  };

  Part segment;  // static Nodes, which a Program runs; may have none
  // One Node each, in topological order, which runs between Programs: control flow that has to, or
  // whose bodies are worth Programs of their own (BuildOptions::body_target), sequences,
  // optionals, strings, ops whose output shapes depend on data. Where types bound such a shape, the
  // segment computes the output and a FirstElements stands here (runtime/ops/bounded.h).
  std::vector<Part> nodes;
  Part rest;  // Nodes that need shapes, elements or branches that the parts before compute
  std::vector<int> outputs;             // slots of the outputs of the Graph that was cut
  std::map<int, HostTensor> constants;  // slots of outputs that are constants
  int slots = 0;
};

// Binds `graph` as far as the types of its inputs and options.input_values decide its shapes, and
// cuts it: as many Nodes as possible are in the segment.
//   input_types  parallel to the inputs; tensors have numbers for dims
//   errors       those of BindShapes; Unimplemented or InvalidArgument: a Node that no part can run
absl::StatusOr<GraphCut> CutGraph(const Graph& graph, absl::Span<const Type> input_types,
                                  const BuildOptions& options);

// The cut of `graph` into these Nodes, each list in topological order.
GraphCut MakeCut(const Graph& graph, const std::vector<const Node*>& segment,
                 const std::vector<const Node*>& nodes, const std::vector<const Node*>& rest);

// Whether `node` can only run between Programs, whatever its shapes.
bool RunsBetweenPrograms(const Node& node);
bool RunsAlone(const Node& node);  // whether it can

}  // namespace onnx_cudnn
