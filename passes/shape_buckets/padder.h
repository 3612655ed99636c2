// The state of padding a Graph to capacities (pad_lengths.h), shared by the rules.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/rewrite/utils/constant_folder.h"
#include "passes/shape_buckets/affine.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"
#include "runtime/graph/onnx_functions.h"

namespace onnx_cudnn {

// The elements with an index below `extent` along an axis are those of the model; behind them is
// padding, up to the axis' dim. Without padding the extent is the dim.
struct PaddedAxis {
  Affine extent;
  // Whether the padding is zero (false) wherever the index is below the extent along every other
  // axis.
  bool zeros = false;
};
using PaddedAxes = std::vector<PaddedAxis>;

// What a mask writes over padding: the neutral element of a sum, a product, a maximum, a minimum;
// NaN, in floats alone.
enum class Filler : uint8_t { kZero, kOne, kLowest, kHighest, kNaN };

// Numbers in [0, most] of the lengths for which a Graph is padded, and those of the Run that needs
// it.
struct Lengths {
  std::vector<std::string> names;
  std::vector<int64_t> most, numbers;
};

// A Graph whose dims are those at capacity, while its Nodes are visited in topological order.
class Padder {
 public:
  // The references must outlive it.
  //   scalars    i64[] inputs of `graph` with the lengths
  //   functions  nullptr: none
  Padder(Graph& graph, const Lengths& lengths, std::vector<Value*> scalars,
         const OnnxFunctions* functions, const PassLimits& limits)
      : graph_(graph),
        lengths_(lengths),
        scalars_(std::move(scalars)),
        functions_(functions),
        inference_(graph),
        folder_(limits) {}

  Graph& graph() { return graph_; }
  const Lengths& lengths() const { return lengths_; }
  const OnnxFunctions* functions() const { return functions_; }

  PaddedAxes AxesOf(const Value& value) const;  // of a Value with static dims
  bool IsPadded(const Value& value) const { return axes_.contains(&value); }
  // InternalError: at capacity they are not the dims of `value`. Unimplemented: elements share
  // bytes.
  absl::Status SetAxes(const Value& value, PaddedAxes axes);

  // The elements, row-major, of an integer or bool scalar or vector where they are known: constants
  // and what is computed from lengths. nullopt: unknown.
  std::optional<std::vector<Affine>> ElementsOf(const Value& value) const;
  bool DependsOnLengths(const Value& value) const { return elements_.contains(&value); }
  // The Node that writes `value` no longer counts: it computes them for the capacity.
  void SetElements(Value& value, std::vector<Affine> elements);
  // Makes input `index` a constant with the elements at capacity, and returns them.
  //   errors  Unimplemented: they are not known
  absl::StatusOr<std::vector<Affine>> FixOperand(Node& node, int index);
  // Makes input `index` hold the elements of the Run where they depend on lengths.
  void ComputeOperand(Node& node, int index);
  Value& Computed(Value& value);

  // Adds Nodes; a failed inference is an error of status().
  Value& Emit(std::string_view op, std::vector<Value*> inputs, Attrs attrs = {});
  Value& Ints(const std::vector<int64_t>& numbers);  // i64[n]
  Value& Scalar(int64_t number);                     // i64[]
  Value& Scalar(const Affine& number);               // i64[]
  // Whether an index along an axis is below `extent`: bool[dim, 1, …] with `trailing` ones.
  Value& Mask(const Affine& extent, int64_t dim, int trailing);
  // `value` with `filler` as the padding along `axis`; itself if that is the case already.
  Value& Filled(Value& value, int axis, Filler filler);
  void Fill(Node& node, int input, int axis, Filler filler);  // replaces the input
  // A Value once per key, for what many Nodes need.
  template <typename Make>
  Value& Once(const std::string& key, Make make) {
    auto found = once_.find(key);
    if (found == once_.end()) found = once_.emplace(key, &make()).first;
    return *found->second;
  }
  std::string Text(const Affine& affine) const { return ToString(affine, lengths_.names); }

  absl::Status Infer(Node& node) { return inference_.Infer(node); }
  bool Fold(Node& node) { return folder_.Fold(graph_, node).changed(); }

  // What the rules take for granted. Unimplemented: it does not hold whatever the lengths are.
  // Where they are equal for some lengths, substitution() says how one follows from the others.
  absl::Status RequireEqual(const Affine& a, const Affine& b);
  void RequireNotNegative(const Affine& number);  // kept for conditions()
  const std::optional<std::pair<int, Affine>>& substitution() const { return substitution_; }
  const std::vector<Affine>& conditions() const { return conditions_; }
  const absl::Status& status() const { return status_; }

 private:
  Value& Constant(DType dtype, Filler filler);

  Graph& graph_;
  const Lengths& lengths_;
  const std::vector<Value*> scalars_;
  const OnnxFunctions* functions_;
  ShapeInference inference_;
  ConstantFolder folder_;
  absl::Status status_;
  absl::flat_hash_map<const Value*, PaddedAxes> axes_;
  absl::flat_hash_map<const Value*, std::vector<Affine>> elements_;  // some depend on lengths
  absl::flat_hash_map<const Value*, Value*> computed_;
  std::map<std::string, Value*> once_;
  std::optional<std::pair<int, Affine>> substitution_;
  std::vector<Affine> conditions_;
};

}  // namespace onnx_cudnn
