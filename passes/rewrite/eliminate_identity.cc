#include <algorithm>
#include <limits>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/permutation.h"

namespace onnx_cudnn {
namespace {

// Whether the Node's output 0 equals its input 0; a reason has static lifetime.
struct Answer {
  bool yes = false;
  std::string_view reason;
};
constexpr Answer kYes = {true, ""};

Answer Always(const Node&) { return kYes; }

// Whether the input is absent, or a constant with all elements equal to `expected`.
bool AbsentOrAll(const Node& node, int index, int64_t expected) {
  if (!node.has_input(index)) return true;
  if (!node.input(index).is_constant()) return false;
  const absl::StatusOr<std::vector<int64_t>> values = ToInts(node.input(index).constant());
  return values.ok() &&
         std::all_of(values->begin(), values->end(), [&](int64_t v) { return v == expected; });
}

Answer SameStaticDims(const Node& node) {
  const Type& from = node.input(0).type();
  if (!from.is_static() || !node.output(0).type().is_static()) {
    return {false, "the shapes are not known"};
  }
  if (node.input(0).dims() != node.output(0).dims()) return {false, "the shapes differ"};
  return kYes;
}

Answer OfDropout(const Node& node) {
  if (node.has_output(1) && (!node.output(1).uses().empty() || node.output(1).is_graph_output())) {
    return {false, "its mask is used"};
  }
  if (!AbsentOrAll(node, 2, 0)) return {false, "it may run in training mode"};
  return kYes;
}

Answer OfCast(const Node& node) {
  const Type& from = node.input(0).type();
  if (!from.is_tensor()) return {false, "the input's type is not known"};
  if (static_cast<int64_t>(from.dtype) != node.attrs().Int("to", 0)) {
    return {false, "it changes the type"};
  }
  return kYes;
}

Answer OfPad(const Node& node) {
  if (node.has_input(1) && AbsentOrAll(node, 1, 0)) return kYes;
  return {false, "the pads are not all a constant 0"};
}

// Equal shapes are not sufficient, since a Slice may reverse.
Answer OfSlice(const Node& node) {
  if (!AbsentOrAll(node, 4, 1)) return {false, "the steps are not all 1"};
  const bool open = node.has_input(1) && node.has_input(2) && AbsentOrAll(node, 1, 0) &&
                    AbsentOrAll(node, 2, std::numeric_limits<int64_t>::max());
  return open ? kYes : SameStaticDims(node);
}

Answer OfTranspose(const Node& node) {
  const std::optional<std::vector<int64_t>> perm = PermOf(node);
  if (!perm.has_value()) return {false, "the rank is not known"};
  if (!IsIdentityPerm(*perm)) return {false, "it permutes"};
  return kYes;
}

// For Concat, Max, Min, Sum …
Answer OfOneInput(const Node& node) {
  if (node.inputs().size() != 1) return {false, "it has several inputs"};
  return kYes;
}

Answer OfSplit(const Node& node) {
  if (node.outputs().size() != 1) return {false, "it has several outputs"};
  return kYes;
}

struct IdentityRule {
  std::string_view op;
  Answer (*ask)(const Node& node);
};
constexpr IdentityRule kRules[] = {
    {"Cast", OfCast},
    {"Concat", OfOneInput},
    {"Dropout", OfDropout},
    {"Expand", SameStaticDims},
    {"Flatten", SameStaticDims},
    {"Identity", Always},
    {"Max", OfOneInput},
    {"Mean", OfOneInput},
    {"Min", OfOneInput},
    {"Pad", OfPad},
    {"Reshape", SameStaticDims},
    {"Slice", OfSlice},
    {"Split", OfSplit},
    {"Squeeze", SameStaticDims},
    {"Sum", OfOneInput},
    {"Transpose", OfTranspose},
    {"Unsqueeze", SameStaticDims},
};

class EliminateIdentityPass final : public NodePass {
 public:
  std::string_view name() const override { return "eliminate-identity"; }
  bool StartsAt(const Node& node) const override { return RowFor(kRules, node) != nullptr; }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    if (!node.has_input(0) || !node.has_output(0)) return Match::None();
    const Answer answer = RowFor(kRules, node)->ask(node);
    if (!answer.yes) return Match::No(node, answer.reason);
    if (node.output(0).uses().empty() && !node.output(0).is_graph_output()) return Match::None();
    graph.ReplaceAllUses(node.output(0), node.input(0));
    return Match::Changed();
  }
};

}  // namespace

std::unique_ptr<Pass> EliminateIdentity() { return std::make_unique<EliminateIdentityPass>(); }

}  // namespace onnx_cudnn
