#pragma once

#include <vector>

#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Copies the Nodes of `body`, a closed Graph, into `graph` and returns the Values that replace its
// outputs.
//   inputs  of `graph`, parallel to the inputs of the body
std::vector<Value*> CopyBody(const Graph& body, absl::Span<Value* const> inputs, Graph& graph);

// The same; also redirects the uses of `outputs` to the returned Values.
//   outputs  of `graph`, parallel to the first outputs of the body; nullptr where one is absent
void InlineBody(const Graph& body, absl::Span<Value* const> inputs, Graph& graph,
                absl::Span<Value* const> outputs);

// How many Nodes may still be added by copying bodies, since the iterations of nested loops
// multiply.
class CopyBudget {
 public:
  static constexpr int64_t kMostNodes = 1 << 12;

  explicit CopyBudget(int64_t nodes = kMostNodes) : nodes_(nodes) {}
  int64_t nodes() const { return nodes_; }  // that may still be added
  // Reserves the Nodes of `copies` copies of `body`. Returns false and reserves nothing if too few
  // are left.
  bool Take(const Graph& body, int64_t copies);

 private:
  int64_t nodes_;
};

}  // namespace onnx_cudnn
