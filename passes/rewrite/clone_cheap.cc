// A Node belongs to one Partition, so a Value that two convolutions read must be written to memory,
// even if it is just the Relu of a tensor that is in memory already. One copy of the Node per
// convolution lets each Engine fuse it as a prologue.
//
// A Node is cheap if it is element-wise, reads no more bytes than it writes and has at most
// kMostOperations operations per element, or if it is cheap_to_clone. Its input must be in memory
// anyway: a graph input, or the output of a Node that only moves bytes. After arithmetic it is not
// cloned, because that arithmetic fuses it as an epilogue.
#include <algorithm>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/broadcast.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/linear_op.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/pointwise.h"

namespace onnx_cudnn {
namespace {

constexpr int kMostOperations = 4;
constexpr size_t kMostCopies = 4;

// Whether `node` computes nothing itself, so that readers of its output cannot join it as an
// epilogue.
bool TakesNoEpilogue(const Node& node) {
  const OpTraits& traits = TraitsOf(node);
  // MaxPool by name, not by moves_bytes: it compares elements, so it does not run on all types that
  // can be moved (strings are one). No other op is like it in a network of convolutions.
  return traits.keeps_bytes || traits.moves_bytes || IsOp(&node, {"MaxPool"});
}

// An element-wise Node with few and simple operations.
bool IsSimple(const Node& node) {
  const PointwiseRow* row = node.domain().empty() ? FindPointwise(node.op()) : nullptr;
  if (row == nullptr) return false;
  const Expression bound = BindPointwise(*row, node);
  int operations = 0;
  for (const Term& term : bound.terms()) {
    if (TraitsOf(term.primitive).cost >= PrimitiveCost::kSlow) return false;
    operations += ArityOf(term.primitive) > 0;
  }
  return operations <= kMostOperations;
}

// The only operand that is not a constant; nullptr if there is none or more than one, or a constant
// varies along more than one axis.
const Value* OnlyInput(const Node& node) {
  const Value* only = nullptr;
  for (const Value* v : node.inputs()) {
    if (v == nullptr || (v->is_constant() && VariesAlongOneAxis(v->constant()))) continue;
    if (v->is_constant() || only != nullptr) return nullptr;
    only = v;
  }
  return only;
}

// The Nodes that read `value` and can fuse its computation, without duplicates; at most as many as
// a Match can hold.
std::vector<Node*> LinearUsers(const Value& value) {
  std::vector<Node*> users;
  for (const Use& use : value.uses()) {
    const bool known = std::find(users.begin(), users.end(), use.node) != users.end();
    if (IsLinear(use.node) && !known) users.push_back(use.node);
    if (users.size() > kMostCopies + 1) break;
  }
  return users;
}

// Comparing symbols is enough, since only the price depends on it.
bool ReadsNoMoreThanItWrites(const Value& input, const Value& output) {
  return input.type().is_tensor() && output.type().is_tensor() && input.type().ranked &&
         input.type().dims == output.type().dims && BitsOf(input.dtype()) <= BitsOf(output.dtype());
}

// Why a shared Node is not cloned; empty if it is.
std::string_view WhyNot(const Node& node) {
  if (!TraitsOf(node).cheap_to_clone && !IsSimple(node)) return "it is not cheap";
  if (node.output(0).is_graph_output()) return "its output is a graph output, in memory anyway";
  const Value* input = OnlyInput(node);
  if (input == nullptr) return "it has other than one large operand";
  if (!ReadsNoMoreThanItWrites(*input, node.output(0))) return "it reads more than it writes";
  const Node* before = input->producer();
  if (before != nullptr && !TakesNoEpilogue(*before)) return "the Node before can fuse it";
  return "";
}

class CloneCheapPass final : public NodePass {
 public:
  std::string_view name() const override { return "clone-cheap"; }
  bool StartsAt(const Node& node) const override {
    return has_gpu() && node.outputs().size() == 1 && node.has_output(0) && node.bodies().empty();
  }
  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    std::vector<Node*> users = LinearUsers(node.output(0));
    const bool has_others = std::any_of(node.output(0).uses().begin(), node.output(0).uses().end(),
                                        [](const Use& use) { return !IsLinear(use.node); });
    const bool shared = users.size() > 1 || has_others || node.output(0).is_graph_output();
    if (users.empty() || !shared) return Match::None();
    if (const std::string_view why = WhyNot(node); !why.empty()) return Match::No(node, why);
    if (!has_others) users.pop_back();  // the last user keeps the original
    if (users.size() > kMostCopies) return Match::No(node, "it has too many users");
    for (Node* user : users) ReadACopy(graph, node, *user);
    return Match::Changed();
  }

 private:
  static void ReadACopy(Graph& graph, const Node& node, Node& user) {
    ValueCopies values;
    for (Value* v : node.inputs()) {
      if (v != nullptr) values[v] = v;
    }
    CopyNodes({&node}, graph, values);
    for (int i = 0; i < static_cast<int>(user.inputs().size()); ++i) {
      if (user.inputs()[i] != &node.output(0)) continue;
      graph.SetInput(user, i, values.at(&node.output(0)));
    }
  }
};

}  // namespace

std::unique_ptr<Pass> CloneCheap() { return std::make_unique<CloneCheapPass>(); }

}  // namespace onnx_cudnn
