#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "passes/pass.h"

namespace onnx_cudnn {

// Replaces the outputs of Nodes with constant inputs by constants, within limits on the total over
// its lifetime. Shape and Size need only the dims of their input. The folded Node stays, without
// uses; the caller removes it.
class ConstantFolder {
 public:
  explicit ConstantFolder(const PassLimits& limits) : limits_(limits) {}
  // Infers the types of the Node's outputs if they are not static yet. A reference that fails gives
  // Match::No, not an error: the Node may never run.
  Match Fold(Graph& graph, Node& node);
  // Whether Fold may find something: all inputs are constants, or only their dims matter.
  static bool StartsAt(const Node& node);

 private:
  Match Evaluate(Graph& graph, Node& node);
  Match FoldEvaluated(Graph& graph, Node& node);
  void Replace(Graph& graph, Node& node, std::vector<HostTensor> results);
  std::string_view WhyTooLarge(const Node& node) const;

  PassLimits limits_;
  int64_t folded_bytes_ = 0;
};

// Replaces each input of a body that captures a constant by a constant of the body that shares its
// bytes. Returns whether any was replaced.
bool SinkConstants(Graph& graph, Node& node);

}  // namespace onnx_cudnn
