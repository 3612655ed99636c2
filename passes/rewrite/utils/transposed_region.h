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
  // perm: of the Transpose behind the region, a permutation
  explicit TransposedRegion(std::vector<int64_t> perm) : perm_(std::move(perm)) {}

  // Collects the Nodes that compute `value`, up to Transposes that the last one undoes and
  // constants that are as good as transposed. Returns why there is no such region, empty when there
  // is. At most 32 Nodes are looked at.
  std::string_view Find(const Value& value);

  // After a Find that found: adds copies of the Nodes that read what the first Transposes read.
  // Returns the copy of `value`, which is what the last Transpose makes of it.
  Value& Rebuild(Graph& graph, const Value& value) const;

 private:
  bool IsUndone(const Value& value) const;
  bool IsEasyConstant(const Value& value) const;
  Value& Untransposed(Graph& graph, const Value& start) const;

  std::vector<int64_t> perm_;
  std::vector<const Value*> starts_;  // one may stand twice
  std::vector<const Node*> nodes_;    // producers first
  int visited_ = 0;
};

// Whether `node` is one of the element-wise ops.
bool IsElementwise(const Node& node);

}  // namespace onnx_cudnn
