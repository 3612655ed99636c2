#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Element-wise Nodes between Transposes that cancel:
//   Transpose(Add(Transpose(x), Relu(Transpose(y)))) ⇒ Add(x, Relu(y))
class TransposedRegion {
 public:
  // perm: of the Transpose after the region, a permutation
  explicit TransposedRegion(std::vector<int64_t> perm) : perm_(std::move(perm)) {}

  // Collects the Nodes that compute `value`, back to Transposes that the last one undoes and to
  // constants that a Transpose does not change. Returns why there is no region, or an empty text.
  // Visits at most 32 Nodes.
  std::string_view Find(const Value& value);

  // After a successful Find: adds copies of the Nodes that read the inputs of the first Transposes.
  // Returns the copy of `value`, which equals the output of the last Transpose.
  Value& Rebuild(Graph& graph, const Value& value) const;

 private:
  bool IsUndone(const Value& value) const;
  bool IsEasyConstant(const Value& value) const;
  Value& Untransposed(Graph& graph, const Value& start) const;

  std::vector<int64_t> perm_;
  std::vector<const Value*> starts_;  // may hold duplicates
  std::vector<const Node*> nodes_;    // producers first
  int visited_ = 0;
};

// Whether `node` is one of the element-wise ops.
bool IsElementwise(const Node& node);

}  // namespace onnx_cudnn
