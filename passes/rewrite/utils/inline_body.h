#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Copies the Nodes of `body`, a closed Graph, into `graph` and returns what its outputs are there.
//   inputs  of `graph`, parallel to the body's inputs
std::vector<Value*> CopyBody(const Graph& body, absl::Span<Value* const> inputs, Graph& graph);

// The same; the uses of `outputs` become uses of
// what the body's outputs are there.
//   outputs  of `graph`, parallel to the first of the body's outputs; nullptr where one is absent
void InlineBody(const Graph& body, absl::Span<Value* const> inputs, Graph& graph,
                absl::Span<Value* const> outputs);

// How many Nodes copies of bodies may still add: turns of turns multiply.
class CopyBudget {
 public:
  static constexpr int64_t kMostNodes = 1 << 12;

  explicit CopyBudget(int64_t nodes = kMostNodes) : nodes_(nodes) {}
  int64_t nodes() const { return nodes_; }  // that are left
  // Whether `turns` copies of `body` fit; they are taken off then.
  bool Take(const Graph& body, int64_t turns);

 private:
  int64_t nodes_;
};

}  // namespace onnx_cudnn
