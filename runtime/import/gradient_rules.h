// Derivatives of single Nodes, for gradient.cc.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {

// The backward pass: the gradients known so far, and the Nodes added for further ones. Keeps the
// first failure and appends nothing after it.
class Backward {
 public:
  Backward(Graph& graph, ShapeInference& inference) : graph_(graph), inference_(inference) {}

  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status) { status_.Update(std::move(status)); }

  // Whether the gradient of `value` is needed.
  void Want(const Value& value) { wanted_.insert(&value); }
  bool Wants(const Value& value) const { return wanted_.contains(&value); }

  // Adds `gradient` to the known gradient of `value`.
  void Give(const Value& value, Value& gradient);
  Value* GradientOf(const Value& value) const;  // nullptr: none was given

  // The first output of a new Node; after a failure, the first of `inputs`.
  Value& Op(std::string op, std::vector<Value*> inputs, Attrs attrs = {});
  // A scalar with the dtype of `like`.
  Value& Number(float number, const Value& like);
  // A tensor with the shape and dtype of `like`, filled with `number`.
  Value& Filled(float number, Value& like);
  // `gradient` of a broadcast of `value`, summed to the dims of `value`. Unimplemented: the dims do
  // not tell which axes were broadcast.
  Value& SummedTo(const Value& value, Value& gradient);

 private:
  Graph& graph_;
  ShapeInference& inference_;
  absl::flat_hash_set<const Value*> wanted_;
  absl::flat_hash_map<const Value*, Value*> gradients_;
  absl::Status status_;
};

// Adds gradients to those inputs of `node` that need one, from the gradient `dy` of its output.
//   fails  Unimplemented: names op, opset and type
void GoBackThrough(Backward& back, const Node& node, Value& dy);

}  // namespace onnx_cudnn
