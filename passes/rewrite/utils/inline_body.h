#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Copies the Nodes of `body`, a closed Graph, into `graph` and returns the Values that stand for
// its outputs.
//   inputs  of `graph`, parallel to the body's inputs
std::vector<Value*> CopyBody(const Graph& body, absl::Span<Value* const> inputs, Graph& graph);

// The same; the uses of `outputs` become uses of the returned Values.
//   outputs  of `graph`, parallel to the first of the body's outputs; nullptr where one is absent
void InlineBody(const Graph& body, absl::Span<Value* const> inputs, Graph& graph,
                absl::Span<Value* const> outputs);

// How many Nodes copies of bodies may still add: the iterations of nested loops multiply.
class CopyBudget {
 public:
  static constexpr int64_t kMostNodes = 1 << 12;

  explicit CopyBudget(int64_t nodes = kMostNodes) : nodes_(nodes) {}
  int64_t nodes() const { return nodes_; }  // left
  // Takes the Nodes of `copies` copies of `body`; false, and nothing taken: too few are left.
  bool Take(const Graph& body, int64_t copies);

 private:
  int64_t nodes_;
};

}  // namespace onnx_cudnn
