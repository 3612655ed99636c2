#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Types and shapes of a Graph's Values by ONNX's own inference functions. Call Infer in
// topological order: what is known of Values that hold shapes (Shape, Gather, Concat chains) is
// kept between the calls.
class ShapeInference {
 public:
  // What happens where an input or attribute contradicts an op's rules.
  enum class Contradiction : uint8_t {
    kFails,
    kLeavesOpen,  // the Node's outputs keep the types they have, or are tensors of unknown dtype
  };

  explicit ShapeInference(Graph& graph, Contradiction contradiction = Contradiction::kFails);
  ~ShapeInference();

  // Merges what is inferred into the types of the Node's outputs, bodies among them (their inputs
  // take the Node's types). InvalidArgument when an input or attribute contradicts the op's rules
  // or an existing type; within a branch of an If, which may never be taken, that leaves
  // types open. A Node without an inference function (another domain, our own ops) is left as it
  // is, but Reformat and Transfer take their input's type.
  absl::Status Infer(Node& node);
  // Values whose elements inference functions asked for, which are not known.
  const std::vector<const Value*>& wanted() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All Nodes of `graph` in topological order. Internal: it has a cycle.
absl::Status InferShapes(Graph& graph);

}  // namespace onnx_cudnn
