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

// A Graph that grows Node by Node at random, with every Value's tensor for inputs at random.
//
// A new Node stays only when it is well-conditioned: when each floating point input and result
// before it is moved by a few roundings of its type, up and down, its own results stay below 10,000
// and move by less than half of ToleranceOf. So a result that is further off than that is no matter
// of rounding, and no comparison, cast or argmax stands on the edge.
class Growth {
 public:
  //   lowest   what f32 may be lowered to: then it is moved by roundings of that
  //   choices  what Below answers first, a byte each; it outlives this
  explicit Growth(uint64_t seed, DType lowest = DType::kF32, std::string_view choices = {});

  int Below(int n);  // 0 … n − 1
  bool OneIn(int n) { return Below(n) == 0; }
  float Uniform(float low, float high);
  template <typename List>
  const auto& OneOf(const List& list) {
    return list[Below(static_cast<int>(list.size()))];
  }

  Graph& graph() { return graph_; }
  // A Value at random that `fits`, more likely a late one; nullptr when none does.
  Value* Pick(absl::FunctionRef<bool(const Value&)> fits);

  // Elements at random in -2 … 2.
  void AddInput(DType dtype, Dims dims);
  Value& Constant(DType dtype, Dims dims, float low = -1, float high = 1);
  Value& Filled(DType dtype, Dims dims, float value);
  Value& Ints(const std::vector<int64_t>& values);

  // Adds a Node unless its types or values say no: then nullptr, and constants that only it read
  // are gone. Pick may find its results.
  Node* Add(NodeSpec spec);
  // The same for its first result, and nullptr when an input is: so calls may be chained.
  Value* AddValue(std::string op, std::vector<Value*> inputs, Attrs attrs = {});

  // Declares outputs at random, among them most results that nobody reads.
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
  Tensors versions_[kVersions];  // as computed, and all moved up or down
  std::vector<Value*> offered_;  // inputs and results
};

}  // namespace onnx_cudnn
