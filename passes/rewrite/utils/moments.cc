#include "passes/rewrite/utils/moments.h"

#include <set>

#include "passes/rewrite/utils/broadcast.h"
#include "passes/rewrite/utils/is_op.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {

std::optional<int> FirstAveragedAxis(const Node& mean) {
  const Value& x = mean.input(0);
  if (!x.type().ranked || mean.attrs().Int("keepdims", 1) == 0) return std::nullopt;
  if (!mean.has_input(1) || !mean.input(1).is_constant()) return std::nullopt;
  const absl::StatusOr<std::vector<int64_t>> given = ToInts(mean.input(1).constant());
  if (!given.ok() || given->empty()) return std::nullopt;
  std::set<int64_t> axes;
  for (const int64_t axis : *given) axes.insert(NormalizedAxis(axis, x.rank()));
  const int64_t first = *axes.begin(), last = *axes.rbegin();
  if (first < 0 || last != x.rank() - 1) return std::nullopt;
  if (static_cast<int64_t>(axes.size()) != last - first + 1) return std::nullopt;
  return static_cast<int>(first);
}

const Value* Squared(const Node* node) {
  if (!IsOp(node, {"Mul", "Pow"})) return nullptr;
  const Value &x = node->input(0), &other = node->input(1);
  const bool squares = node->op() == "Mul" ? &x == &other : NumberInto(other, x) == 2;
  return squares ? &x : nullptr;
}

}  // namespace onnx_cudnn
