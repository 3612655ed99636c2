#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Types and shapes of a Graph's Values by ONNX's own inference functions. Ask Node by Node in
// topological order; what was learned about shape-carrying Values (Shape, Gather, Concat chains) is
// kept between the calls.
class ShapeInference {
 public:
  explicit ShapeInference(Graph& graph);
  ~ShapeInference();

  // Merges what is inferred into the types of the Node's outputs, bodies among them (their inputs
  // take the Node's types). InvalidArgument when an input or attribute contradicts the op's rules
  // or a type that stands already. A Node without an inference function (another domain, our own
  // ops) is left as it is, but Reformat and Transfer take their input's type.
  absl::Status Infer(Node& node);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All Nodes of `graph` in topological order. Internal: it has a cycle.
absl::Status InferShapes(Graph& graph);

// Infers all Nodes and returns, sorted by place, the inputs of `graph` whose values decide shapes:
// an inference function asks for elements that are computed from them (the shape of a Reshape, the
// scales of a Resize), or they count a Loop's turns. Not looked for inside bodies. Errors as
// InferShapes'.
absl::StatusOr<std::vector<int>> InputsThatDecideShapes(Graph& graph);

}  // namespace onnx_cudnn
