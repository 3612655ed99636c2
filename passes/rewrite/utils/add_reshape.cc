#include "passes/rewrite/utils/add_reshape.h"

#include <algorithm>

namespace onnx_cudnn {

std::optional<std::vector<int64_t>> ShapeOperand(const Type& type) {
  if (!type.is_tensor() || !type.ranked) return std::nullopt;
  std::vector<int64_t> shape;
  for (const Dim& dim : type.dims) shape.push_back(std::max<int64_t>(dim.value, -1));
  const auto unknown = std::count(shape.begin(), shape.end(), -1);
  const auto empty = std::count(shape.begin(), shape.end(), 0);
  if (unknown > 1 || (unknown == 1 && empty > 0)) return std::nullopt;
  return shape;
}

void ReplaceByReshape(Graph& graph, Node& old, Value& x, const std::vector<int64_t>& shape) {
  Attrs attrs;
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (empty) attrs.Set("allowzero", int64_t{1});
  Value& operand = graph.AddConstant(HostTensor::Ints(shape), "shape");
  Node& reshape = graph.AddNode({.op = "Reshape",
                                 .inputs = {&x, &operand},
                                 .attrs = std::move(attrs),
                                 .outputs = {old.output(0).name()},
                                 .name = old.name()});
  graph.SetType(reshape.output(0), old.output(0).type());
  graph.ReplaceAllUses(old.output(0), reshape.output(0));
}

}  // namespace onnx_cudnn
