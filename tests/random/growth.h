#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"
#include "tests/random/part.h"

namespace onnx_cudnn {

// A Graph that grows Node by Node at random, with every Value's tensor for random inputs.
//
// A new Node is kept only if it is well-conditioned: if each float input and earlier result is
// changed by a few roundings of its type, up and down, its own results stay below 10,000 and change
// by less than half of ToleranceOf. A result that differs by more is therefore not explained by
// rounding, and no comparison, cast or argmax is at a decision boundary.
class Growth {
 public:
  // lowest   the type that f32 may be lowered to: its roundings are used
  // choices  what Below returns first, one byte each; must outlive this
  explicit Growth(uint64_t seed, DType lowest = DType::kF32, std::string_view choices = {});

  int Below(int n);  // 0 … n − 1
  bool OneIn(int n) { return Below(n) == 0; }
  float Uniform(float low, float high);
  template <typename List>
  const auto& OneOf(const List& list) {
    return list[Below(static_cast<int>(list.size()))];
  }

  Graph& graph() { return graph_; }
  // A random Value that `fits`, more likely a recent one; nullptr if none does.
  Value* Pick(absl::FunctionRef<bool(const Value&)> fits);

  // Random elements in -2 … 2.
  void AddInput(DType dtype, Dims dims);
  Value& Constant(DType dtype, Dims dims, float low = -1, float high = 1);
  Value& Filled(DType dtype, Dims dims, float value);
  Value& Ints(const std::vector<int64_t>& values);

  // Adds a Node unless its types or values rule it out: then returns nullptr, and removes constants
  // that only it read. Pick may return its results.
  Node* Add(NodeSpec spec);
  // The same for its first result; nullptr if an input is, so that calls can be nested.
  Value* AddValue(std::string op, std::vector<Value*> inputs, Attrs attrs = {});

  // Declares random outputs, including most unused results.
  void Finish();
  Tensors TakeTensors() { return std::move(versions_[kPlain]); }
  Graph TakeGraph() { return std::move(graph_); }

 private:
  enum Version { kPlain, kUp, kDown, kVersions };
  HostTensor RandomTensor(DType dtype, Dims dims, float low, float high);
  bool Evaluates(const Node& node);
  void Disturb(HostTensor& up, HostTensor& down);

  bool AreClose(const HostTensor& a, const HostTensor& b) const;

  std::mt19937_64 random_;
  std::string_view choices_;
  const DType lowest_;
  Graph graph_;
  ShapeInference inference_{graph_};
  Tensors versions_[kVersions];  // as computed, and with all changed up or down
  std::vector<Value*> offered_;  // inputs and results
};

}  // namespace onnx_cudnn
