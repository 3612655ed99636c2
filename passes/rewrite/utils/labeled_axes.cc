#include "passes/rewrite/utils/labeled_axes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace onnx_cudnn {
namespace {

Axes WithoutOnes(Axes axes) {
  std::erase(axes, "");
  return axes;
}

std::vector<int64_t> PositionsOfOnes(const Axes& axes) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].empty()) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

// For each axis of `to`, its position in `from`; equal axes keep their order.
std::vector<int64_t> PermBetween(const Axes& from, const Axes& to) {
  std::vector<int64_t> perm;
  for (const std::string& axis : to) {
    int64_t i = 0;
    while (from[i] != axis || std::find(perm.begin(), perm.end(), i) != perm.end()) ++i;
    perm.push_back(i);
  }
  return perm;
}

}  // namespace

Axes AxesOf(std::string_view labels) {
  Axes axes;
  for (char label : labels) axes.emplace_back(1, label);
  return axes;
}

std::string LabelsOf(const Axes& axes) {
  std::string labels;
  for (const std::string& axis : axes) labels += axis;
  return labels;
}

Dim Extents::Of(std::string_view labels) const {
  if (labels.size() == 1) return dims_.at(labels[0]);
  Dim product{.value = 1};
  for (char label : labels) {
    const Dim& dim = dims_.at(label);
    if (dim.value < 0) return Dim();
    product.value *= dim.value;
  }
  return product;
}

double Extents::Weight(std::string_view labels) const {
  double weight = 1;
  for (char label : labels)
    weight *= static_cast<double>(std::max<int64_t>(dims_.at(label).value, 1));
  return weight;
}

// Extents are positive, so that one -1 can be computed and a 0 always copies.
std::optional<std::vector<int64_t>> Extents::ShapeOperand(const Axes& from, const Axes& to) const {
  std::vector<int64_t> shape;
  bool copies = true;
  for (size_t i = 0; i < to.size(); ++i) {
    shape.push_back(std::max<int64_t>(Of(to[i]).value, -1));
    copies &= shape.back() >= 0 || (i < from.size() && from[i] == to[i]);
  }
  if (std::count(shape.begin(), shape.end(), -1) <= 1) return shape;
  if (!copies) return std::nullopt;
  std::replace(shape.begin(), shape.end(), int64_t{-1}, int64_t{0});
  return shape;
}

bool IsPermutation(const Axes& from, const Axes& to) {
  return from.size() == to.size() && std::is_permutation(from.begin(), from.end(), to.begin());
}

LabeledValue LabeledNodes::To(const LabeledValue& x, const Axes& axes) {
  if (x.axes == axes) return x;
  if (!IsPermutation(x.axes, axes)) return Reshaped(x, axes);
  return Add("Transpose", {x.value}, {{"perm", PermBetween(x.axes, axes)}}, x.value->dtype(), axes);
}

LabeledValue LabeledNodes::Through(LabeledValue x, const std::vector<Axes>& forms) {
  for (const Axes& axes : forms) x = To(x, axes);
  return x;
}

LabeledValue LabeledNodes::Reshaped(const LabeledValue& x, const Axes& axes) {
  const DType dtype = x.value->dtype();
  const std::vector<int64_t> gone = PositionsOfOnes(x.axes), added = PositionsOfOnes(axes);
  if (WithoutOnes(x.axes) == WithoutOnes(axes) && (gone.empty() || added.empty())) {
    if (gone.empty()) return Add("Unsqueeze", {x.value, Ints(added)}, {}, dtype, axes);
    return Add("Squeeze", {x.value, Ints(gone)}, {}, dtype, axes);
  }
  return Add("Reshape", {x.value, Ints(*extents_.ShapeOperand(x.axes, axes))}, {}, dtype, axes);
}

LabeledValue LabeledNodes::Summed(const LabeledValue& x, std::string_view kept) {
  std::vector<int64_t> summed;
  Axes axes;
  for (size_t i = 0; i < x.axes.size(); ++i) {
    if (kept.find(x.axes[i]) == kept.npos) {
      summed.push_back(static_cast<int64_t>(i));
    } else {
      axes.push_back(x.axes[i]);
    }
  }
  if (summed.empty()) return x;
  return Add("ReduceSum", {x.value, Ints(std::move(summed))}, {{"keepdims", int64_t{0}}},
             x.value->dtype(), std::move(axes));
}

// Every (n + 1)-th element of the n² in both axes.
LabeledValue LabeledNodes::Diagonal(const LabeledValue& x, size_t first, size_t second) {
  const std::string label = x.axes[first];
  Axes axes = x.axes;
  std::rotate(axes.begin() + first + 1, axes.begin() + second, axes.begin() + second + 1);
  const LabeledValue transposed = To(x, axes);
  axes.erase(axes.begin() + first);
  axes[first] = label + label;
  const LabeledValue merged = To(transposed, axes);
  axes[first] = label;
  const int64_t end = std::numeric_limits<int64_t>::max();
  return Add("Slice",
             {merged.value, Ints({0}), Ints({end}), Ints({static_cast<int64_t>(first)}),
              Ints({extents_.Of(label).value + 1})},
             {}, x.value->dtype(), std::move(axes));
}

LabeledValue LabeledNodes::Cast(const LabeledValue& x, DType dtype) {
  return Add("Cast", {x.value}, {{"to", static_cast<int64_t>(dtype)}}, dtype, x.axes);
}

LabeledValue LabeledNodes::Identity(const LabeledValue& x) {
  return Add("Identity", {x.value}, {}, x.value->dtype(), x.axes);
}

LabeledValue LabeledNodes::Binary(std::string op, const LabeledValue& a, const LabeledValue& b,
                                  Axes axes) {
  return Add(std::move(op), {a.value, b.value}, {}, a.value->dtype(), std::move(axes));
}

LabeledValue LabeledNodes::Add(std::string op, std::vector<Value*> inputs, Attrs attrs, DType dtype,
                               Axes axes) {
  Type type{.kind = Type::Kind::kTensor, .dtype = dtype, .ranked = true};
  for (const std::string& axis : axes) type.dims.push_back(extents_.Of(axis));
  Node& node = graph_.AddNode({.op = std::move(op),
                               .inputs = std::move(inputs),
                               .attrs = std::move(attrs),
                               .outputs = {origin_.output(0).name()},
                               .name = origin_.name()});
  graph_.SetType(node.output(0), std::move(type));
  return {&node.output(0), std::move(axes)};
}

Value* LabeledNodes::Ints(std::vector<int64_t> values) {
  return &graph_.AddConstant(HostTensor::Ints(std::move(values)), "axes");
}

}  // namespace onnx_cudnn
