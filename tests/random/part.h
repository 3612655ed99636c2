#pragma once

#include <map>
#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The tensor of every Value that is not constant.
using Tensors = std::map<const Value*, HostTensor>;

// Copies of some Nodes of a Graph as a Graph of their own. Its inputs are the Values that they read
// from other Nodes, its outputs the Values that other Nodes read, graph outputs and unused Values.
struct Part {
  Graph graph;
  std::vector<const Value*> inputs;  // of the whole Graph, parallel to graph.inputs()
  ValueCopies copies;                // of Values of the whole Graph
};

// `nodes` stand in topological order.
Part TakePart(absl::Span<const Node* const> nodes);

// The tensors of `values`.
std::vector<HostTensor> TensorsOf(absl::Span<const Value* const> values, const Tensors& tensors);

}  // namespace onnx_cudnn
