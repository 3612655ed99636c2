#include "passes/rewrite/utils/transposed_region.h"

#include "passes/rewrite/utils/broadcast.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/permutation.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

constexpr int kMostNodes = 32;

}  // namespace

bool IsElementwise(const Node& node) {
  return node.domain().empty() && FindPointwise(node.op()) != nullptr;
}

std::string_view TransposedRegion::Find(const Value& value) {
  if (++visited_ > kMostNodes) return "too many Nodes are between the Transposes";
  if (!value.has_one_use()) return "what is between the Transposes has other users";
  if (!value.type().ranked || value.type().dims.size() != perm_.size()) {
    return "a rank between the Transposes is not known";
  }
  const Node& node = *value.producer();
  for (const Value* input : node.inputs()) {
    if (input == nullptr) continue;
    if (IsUndone(*input) || IsEasyConstant(*input)) {
      starts_.push_back(input);
      continue;
    }
    const Node* before = input->producer();
    if (before == nullptr || !IsElementwise(*before)) return "an operand is not transposed so";
    if (const std::string_view why = Find(*input); !why.empty()) return why;
  }
  nodes_.push_back(&node);
  return "";
}

bool TransposedRegion::IsUndone(const Value& value) const {
  const Node* node = value.producer();
  if (!IsOp(node, {"Transpose"})) return false;
  const std::optional<std::vector<int64_t>> first = PermOf(*node);
  if (!first.has_value()) return false;
  const std::optional<std::vector<int64_t>> both = ComposedPerm(*first, perm_);
  return both.has_value() && IsIdentityPerm(*both);
}

bool TransposedRegion::IsEasyConstant(const Value& value) const {
  return value.is_constant() && value.type().dims.size() <= perm_.size() &&
         VariesAlongOneAxis(value.constant());
}

Value& TransposedRegion::Untransposed(Graph& graph, const Value& start) const {
  if (!start.is_constant()) return start.producer()->input(0);
  if (start.elements() == 1) return graph.Mutable(start);
  Dims dims(perm_.size() - start.dims().size(), 1), transposed;
  for (const int64_t extent : start.dims()) dims.push_back(extent);
  for (const int64_t axis : perm_) transposed.push_back(dims[axis]);
  return graph.AddConstant(start.constant().Reshaped(std::move(transposed)), start.name());
}

Value& TransposedRegion::Rebuild(Graph& graph, const Value& value) const {
  ValueCopies values;
  for (const Value* start : starts_) {
    auto [it, added] = values.try_emplace(start, nullptr);
    if (added) it->second = &Untransposed(graph, *start);
  }
  CopyNodes(nodes_, graph, values);
  for (const Node* node : nodes_) {
    const Type& old = node->output(0).type();
    Type type = old;
    for (size_t i = 0; i < perm_.size(); ++i) type.dims[i] = old.dims[perm_[i]];
    graph.SetType(*values.at(&node->output(0)), std::move(type));
  }
  return *values.at(&value);
}

}  // namespace onnx_cudnn
