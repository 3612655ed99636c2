#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Values that decide shapes are small: a larger tensor is read only when a Program runs.
inline constexpr int64_t kMostDecidingBytes = 4096;

enum class Deciding : uint8_t {
  kOfModel,
  // Of a part of a model, which is cut where an If or a contradiction is: conditions do not count,
  // and what contradicts an op's rules stays open.
  kOfPart,
};

// Infers all Nodes and returns, in ascending order, the indices of the inputs of `graph` whose
// values must be known before shapes are:
//   - an inference function needs elements computed from them (the shape of a Reshape, the scales
//     of a Resize), or the trip count of a Loop is computed from them; bodies are not searched
//   - they have one element, and the condition of an If is computed from it, in bodies too
// Ops whose output shapes depend on data (NonZero) are not followed back.
// Errors as for InferShapes.
absl::StatusOr<std::vector<int>> InputsThatDecideShapes(Graph& graph,
                                                        Deciding deciding = Deciding::kOfModel);

// The inputs of `node` whose unknown elements decide the shapes of its outputs.
std::vector<const Value*> UnknownDeciders(Graph& graph, Node& node);

}  // namespace onnx_cudnn
