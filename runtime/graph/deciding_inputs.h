#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Infers all Nodes and returns, sorted by place, the inputs of `graph` whose values must be known
// before shapes are:
//   - an inference function asks for elements that are computed from them (the shape of a Reshape,
//     the scales of a Resize), or a Loop's trip count is; bodies are not searched
//   - they have one element, from which the condition of an If is computed, in bodies too
// Errors as InferShapes'.
absl::StatusOr<std::vector<int>> InputsThatDecideShapes(Graph& graph);

// The inputs of `node` whose elements decide the shapes of its outputs and are not known.
std::vector<const Value*> UnknownDeciders(Graph& graph, Node& node);

}  // namespace onnx_cudnn
