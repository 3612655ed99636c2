// Replaces chains of Nodes that move whole rows, such as those that cut an image into windows (a
// roll by Slices and a Concat, Reshape, Transpose) and put it together again, by one Gather with
// constant indices:
//   Transpose(Reshape(Concat(Slice(x), Slice(x)))) ⇒ Gather(x as rows, numbers)
// A norm of the rows before the chain moves behind it, if an Engine reads the rows with it:
//   chain(LayerNormalization(x)) ⇒ LayerNormalization(Gather(x as rows, numbers))
// Runs on static Graphs after attentions are fused and their operands are read in place, where the
// Gather costs nothing since a norm behind it reads the rows, or less than the Nodes of the chain.
#include <algorithm>
#include <utility>
#include <vector>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/engine_offers.h"
#include "passes/rewrite/utils/is_op.h"
#include "passes/rewrite/utils/row_moves.h"
#include "runtime/base/status.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr int64_t kRowBytes = 16;  // rows are whole vectors, so that a Gather copies vectors

bool IsRowNorm(const Node* node) {
  if (!IsOp(node, {"LayerNormalization", "RMSNormalization"})) return false;
  const Value& x = node->input(0);
  return x.is_static() && NormalizedAxis(node->attrs().Int("axis", -1), x.rank()) == x.rank() - 1;
}

// Whether a norm of rows is the same for rows in another order: one factor per column, and nobody
// reads its statistics.
bool IsOrderFree(const Node& norm) {
  for (const Value* factor : norm.inputs().subspan(1)) {
    if (factor != nullptr && factor->rank() > 1) return false;
  }
  const auto unused = [](const Value* v) {
    return v == nullptr || (v->uses().empty() && !v->is_graph_output());
  };
  const auto statistics = norm.outputs().subspan(1);
  return std::all_of(statistics.begin(), statistics.end(), unused);
}

// A norm that only the chain reads; nullptr: none computes its source.
Node* NormBefore(const RowMoves& moves) {
  Node* norm = moves.source->producer();
  if (!IsRowNorm(norm) || !IsOrderFree(*norm) || moves.source->is_graph_output()) return nullptr;
  const auto is_inside = [&](const Use& use) {
    return std::find(moves.nodes.begin(), moves.nodes.end(), use.node) != moves.nodes.end();
  };
  const auto& uses = moves.source->uses();
  return std::all_of(uses.begin(), uses.end(), is_inside) ? norm : nullptr;
}

// The norms of rows that read `value`, or a sum of it with something else.
std::vector<const Node*> NormsBehind(const Value& value) {
  std::vector<const Node*> norms;
  for (const Use& use : value.uses()) {
    if (IsRowNorm(use.node)) norms.push_back(use.node);
    if (!IsOp(use.node, {"Add"})) continue;
    for (const Use& next : use.node->output(0).uses()) {
      if (IsRowNorm(next.node)) norms.push_back(next.node);
    }
  }
  return norms;
}

class GatherRowsPass final : public OpPass {
 public:
  // What reads the rows.
  GatherRowsPass()
      : OpPass("gather-rows", {"Add", "Gemm", "LayerNormalization", "MatMul", "RMSNormalization"}) {
  }

  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    if (!has_gpu()) return Match::None();
    const int operands = node.op() == "Add" ? 2 : 1;
    Match match = Match::None();
    for (int i = 0; i < operands; ++i) {
      const std::optional<RowMoves> moves = RowMovesBefore(node.input(i));
      if (!moves.has_value()) continue;
      const double moved_us = PriceOf(graph, *moves);
      if (moved_us <= 0) continue;
      if (moves->columns() * BitsOf(moves->source->dtype()) / 8 % kRowBytes != 0) {
        match = Match::No(node, "the rows that are moved are no whole vectors");
        continue;
      }
      ASSIGN_OR_RETURN(HostTensor numbers, RowNumbers(*moves));
      if (ReplaceWithNorm(graph, *moves, numbers) ||
          Replace(graph, *moves, std::move(numbers), moved_us)) {
        return Match::Changed();
      }
      match = Match::No(node, "one Gather is predicted to take as long as what moves the rows");
    }
    return match;
  }

 private:
  // Of the Nodes that move bytes.
  double PriceOf(const Graph& graph, const RowMoves& moves) const {
    double us = 0;
    for (const Node* node : moves.nodes) us += AloneUs(graph, *node);
    return us;
  }
  double AloneUs(const Graph& graph, const Node& node) const {
    return OffersAt(graph, node, *context().target).alone_us;
  }
  bool IsReadWith(const Graph& graph, const Node& norm, const Node& gather) const {
    return OffersAt(graph, norm, *context().target, &gather).any_with;
  }

  static Value& Reshaped(Graph& graph, Value& value, const Dims& dims) {
    if (value.dims() == dims) return value;
    Value& shape = graph.AddConstant(
        HostTensor::Ints(std::vector<int64_t>(dims.begin(), dims.end())), "shape");
    Node& reshape = graph.AddNode({.op = "Reshape", .inputs = {&value, &shape}});
    graph.SetType(reshape.output(0), Type::Tensor(value.dtype(), dims));
    return reshape.output(0);
  }

  // The rows of `source` in the order of `numbers`.
  static Node& GatherOf(Graph& graph, Value& source, HostTensor numbers, const RowMoves& moves) {
    const int64_t columns = moves.columns();
    Dims picked = numbers.dims();
    if (picked.back() == 1) picked.pop_back();
    Value& rows = Reshaped(graph, source, {source.elements() / columns, columns});
    Value& indices = graph.AddConstant(numbers.Reshaped(picked), "rows");
    Node& gather = graph.AddNode({.op = "Gather",
                                  .inputs = {&rows, &indices},
                                  .attrs = {{"axis", int64_t{0}}},
                                  .name = moves.nodes.back()->name()});
    picked.push_back(columns);
    graph.SetType(gather.output(0), Type::Tensor(source.dtype(), picked));
    return gather;
  }

  // Removes the Nodes added since, which nothing else reads.
  static void RemoveFrom(Graph& graph, int first) {
    for (int id = graph.node_ids() - 1; id >= first; --id) graph.Remove(*graph.node(id));
  }

  // Normalizes the gathered rows instead of gathering normalized ones; false: no Engine does both.
  bool ReplaceWithNorm(Graph& graph, const RowMoves& moves, const HostTensor& numbers) const {
    Node* norm = NormBefore(moves);
    if (norm == nullptr || moves.result->dims().back() != moves.columns()) return false;
    const int first_added = graph.node_ids();
    Node& gather = GatherOf(graph, norm->input(0), numbers, moves);
    std::vector<Value*> inputs(norm->inputs().begin(), norm->inputs().end());
    inputs[0] = &gather.output(0);
    Attrs attrs = norm->attrs();
    attrs.Set("axis", int64_t{-1});
    Node& moved = graph.AddNode({.op = norm->op(),
                                 .inputs = std::move(inputs),
                                 .attrs = std::move(attrs),
                                 .name = norm->name()});
    graph.SetType(moved.output(0), moves.result->type());
    graph.ReplaceAllUses(*moves.result, moved.output(0));
    if (IsReadWith(graph, moved, gather)) return true;
    graph.ReplaceAllUses(moved.output(0), *moves.result);
    RemoveFrom(graph, first_added);
    return false;
  }

  // false: that takes no less than `moved_us`.
  bool Replace(Graph& graph, const RowMoves& moves, HostTensor numbers, double moved_us) const {
    const int first_added = graph.node_ids();
    Node& gather = GatherOf(graph, *moves.source, std::move(numbers), moves);
    Value& y = Reshaped(graph, gather.output(0), moves.result->dims());
    graph.ReplaceAllUses(*moves.result, y);
    const std::vector<const Node*> norms = NormsBehind(y);
    const bool is_joined = std::any_of(norms.begin(), norms.end(), [&](const Node* norm) {
      return IsReadWith(graph, *norm, gather);
    });
    if (is_joined || AloneUs(graph, gather) < moved_us) return true;
    graph.ReplaceAllUses(y, *moves.result);
    RemoveFrom(graph, first_added);
    return false;
  }
};

}  // namespace

std::unique_ptr<Pass> GatherRows() { return std::make_unique<GatherRowsPass>(); }

}  // namespace onnx_cudnn
