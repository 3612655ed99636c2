// Tensors whose axes have labels, as in the equation of an Einsum, and Nodes that reorder and merge
// such axes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// The labels of each axis: "i" for one of extent i, "" for an extent of 1, "ij" for two merged
// axes, of extent i·j.
using Axes = std::vector<std::string>;

// One axis for each label.
Axes AxesOf(std::string_view labels);
// The labels of `axes`, in order.
std::string LabelsOf(const Axes& axes);

// The extent of each label: a positive number, a symbol, or unknown.
class Extents {
 public:
  void Set(char label, Dim dim) { dims_[label] = std::move(dim); }
  Dim Of(std::string_view labels) const;  // of their product
  // Elements over `labels`; those without a number count as one.
  double Weight(std::string_view labels) const;
  // The shape operand of a Reshape; nullopt: it would need numbers of more than one label.
  std::optional<std::vector<int64_t>> ShapeOperand(const Axes& from, const Axes& to) const;

 private:
  std::map<char, Dim> dims_;
};

// Whether one is a permutation of the other: then a Transpose leads from one to the other.
bool IsPermutation(const Axes& from, const Axes& to);

struct LabeledValue {
  Value* value = nullptr;
  Axes axes;
};

// Adds Nodes on LabeledValues to a Graph. The Nodes are called as `origin`, which they replace.
class LabeledNodes {
 public:
  LabeledNodes(Graph& graph, const Node& origin, const Extents& extents)
      : graph_(graph), origin_(origin), extents_(extents) {}

  // By a Transpose if the axes are permuted, otherwise by a Squeeze, an Unsqueeze or a Reshape,
  // which keep the order of the labels; x itself if the axes are equal. There must be a shape
  // operand.
  LabeledValue To(const LabeledValue& x, const Axes& axes);
  // The same over several forms.
  LabeledValue Through(LabeledValue x, const std::vector<Axes>& forms);
  // The sum over the axes that `kept` has not.
  LabeledValue Summed(const LabeledValue& x, std::string_view kept);
  // The diagonal of axis `first` and a later one of the same label; extents are numbers.
  LabeledValue Diagonal(const LabeledValue& x, size_t first, size_t second);
  LabeledValue Cast(const LabeledValue& x, DType dtype);
  LabeledValue Identity(const LabeledValue& x);
  // An op of two operands whose output has `axes`.
  LabeledValue Binary(std::string op, const LabeledValue& a, const LabeledValue& b, Axes axes);

 private:
  LabeledValue Reshaped(const LabeledValue& x, const Axes& axes);
  LabeledValue Add(std::string op, std::vector<Value*> inputs, Attrs attrs, DType dtype, Axes axes);
  Value* Ints(std::vector<int64_t> values);

  Graph& graph_;
  const Node& origin_;
  const Extents& extents_;
};

}  // namespace onnx_cudnn
