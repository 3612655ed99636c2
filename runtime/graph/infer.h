#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Types and shapes of a Graph's Values by ONNX's own inference functions. Call Infer in topological
// order: knowledge about Values that hold shapes (chains of Shape, Gather, Concat) is kept between
// calls.
class ShapeInference {
 public:
  // What to do if an input or attribute violates the rules of an op.
  enum class Contradiction : uint8_t {
    kFails,
    kLeavesOpen,  // the Node's outputs keep their types, or become tensors of unknown dtype
  };

  explicit ShapeInference(Graph& graph, Contradiction contradiction = Contradiction::kFails);
  ~ShapeInference();

  // Merges inferred types into those of the Node's outputs, bodies included (their inputs take the
  // types of the Node's inputs). InvalidArgument if an input or attribute contradicts the op's
  // rules or an existing type; in a branch of an If, which may never be taken, types stay open
  // instead. A Node without an inference function (of another domain that no
  // op library defines, or our own op) is left unchanged, except that Reformat and Transfer take
  // the type of their input.
  absl::Status Infer(Node& node);
  // Values whose elements inference functions requested but that are not known.
  const std::vector<const Value*>& wanted() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether ONNX's own domain has an op of this name.
bool IsOnnxOp(std::string_view op);

// Infers all Nodes of `graph` in topological order. Internal: it has a cycle.
absl::Status InferShapes(Graph& graph);

}  // namespace onnx_cudnn
