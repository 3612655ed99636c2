// Gives an op Attention that no Engine of the Target runs a form that one runs:
//   three dims                     ⇒ four, by a Reshape and a Transpose of each operand
//   a past of keys and values      ⇒ Concat before the op
//   bools that select, lengths     ⇒ a mask that is added
//   causal, with a mask or a past  ⇒ a mask without the later keys
// Runs before decompose, on static Graphs: ONNX's function is many Nodes, which guard rows without
// keys in a way that no Engine joins.
#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/attention_mask.h"
#include "passes/rewrite/utils/engine_offers.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/elements.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kTypes = {DType::kF16, DType::kBF16};
constexpr int kPastKeys = 4, kPastValues = 5;
constexpr float kHidden = -std::numeric_limits<float>::infinity();
constexpr int64_t kMostPairs = int64_t{1} << 24;  // of queries and keys, in a mask of our own

using Ints = std::vector<int64_t>;

Value& Typed(Graph& graph, NodeSpec spec, DType dtype, Dims dims) {
  Node& node = graph.AddNode(std::move(spec));
  graph.SetType(node.output(0), Type::Tensor(dtype, std::move(dims)));
  return node.output(0);
}

Value& Reshaped(Graph& graph, Value& value, const Dims& dims) {
  Value& shape = graph.AddConstant(HostTensor::Ints(Ints(dims.begin(), dims.end())), "shape");
  return ComputedOnce(graph, "Reshape", {&value, &shape}, Type::Tensor(value.dtype(), dims));
}

// [a, b, c, d] as [a, c, b, d].
Value& Exchanged(Graph& graph, Value& value) {
  const Dims dims = value.dims();
  return Typed(graph,
               {.op = "Transpose", .inputs = {&value}, .attrs = {{"perm", Ints{0, 2, 1, 3}}}},
               value.dtype(), {dims[0], dims[2], dims[1], dims[3]});
}

// [batch, heads, rows, channels], of which three dims are [batch, rows, heads · channels].
Value& HeadsOf(Graph& graph, Value& value, int64_t heads) {
  const Dims dims = value.dims();
  if (dims.size() == 4) return value;
  return Exchanged(graph, Reshaped(graph, value, {dims[0], dims[1], heads, dims[2] / heads}));
}

// `rows` behind those of `past`, or alone if there are none.
Value& Behind(Graph& graph, Value* past, Value& rows) {
  if (past == nullptr) return rows;
  Dims dims = rows.dims();
  dims[2] += past->dim(2);
  return Typed(graph, {.op = "Concat", .inputs = {past, &rows}, .attrs = {{"axis", int64_t{2}}}},
               rows.dtype(), std::move(dims));
}

Dims Broadcast(Dims a, Dims b) {
  if (a.size() < b.size()) std::swap(a, b);
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& dim = a[a.size() - b.size() + i];
    dim = dim == 1 ? b[i] : dim;
  }
  return a;
}

// op(a, b), element-wise.
Value& Joined(Graph& graph, std::string_view op, Value* a, Value& b) {
  if (a == nullptr) return b;
  return ComputedOnce(graph, op, {a, &b}, Type::Tensor(a->dtype(), Broadcast(a->dims(), b.dims())));
}

HostTensor ScalarOf(DType dtype, float number) {
  HostTensor tensor = HostTensor::Allocate(dtype, {});
  VisitElementType(
      dtype, [&](auto e) { tensor.mutable_data<decltype(e)>()[0] = Narrow<decltype(e)>(number); });
  return tensor;
}

// Which keys queries behind `past` others see, [queries, keys], in bools or to be added.
Value& SeenInOrder(Graph& graph, DType dtype, int64_t queries, int64_t keys, int64_t past) {
  HostTensor seen = HostTensor::Allocate(dtype, {queries, keys});
  const bool selects = dtype == DType::kBool;
  VisitElementType(dtype, [&](auto e) {
    using E = decltype(e);
    const E shown = Narrow<E>(selects ? 1.0F : 0.0F), hidden = Narrow<E>(selects ? 0.0F : kHidden);
    const absl::Span<E> elements = seen.mutable_data<E>();
    for (int64_t i = 0; i < queries * keys; ++i) {
      elements[i] = i % keys <= i / keys + past ? shown : hidden;
    }
  });
  return graph.AddConstant(std::move(seen), "seen");
}

Ints CountFrom(int64_t first, int64_t count) {
  Ints numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// Whether keys count, bool[batch, 1, 1 or queries, keys]: all of the length, or for the last query
// only and one less for each query before it.
Value& Counted(Graph& graph, Value& lengths, int64_t queries, int64_t keys, bool is_causal) {
  const int64_t batch = lengths.dim(0);
  Value& position = graph.AddConstant(HostTensor::Ints(CountFrom(0, keys)), "position");
  Value* bound = &Reshaped(graph, lengths, {batch, 1, 1, 1});
  const int64_t rows = is_causal ? queries : 1;
  if (rows > 1) {
    Value& behind = graph.AddConstant(
        HostTensor::Ints(CountFrom(1 - queries, queries)).Reshaped({queries, 1}), "behind");
    bound = &ComputedOnce(graph, "Add", {bound, &behind},
                          Type::Tensor(DType::kI64, {batch, 1, rows, 1}));
  }
  return ComputedOnce(graph, "Greater", {bound, &position},
                      Type::Tensor(DType::kBool, {batch, 1, rows, keys}));
}

Value* Optional(const Node& node, int input) {
  return node.has_input(input) ? node.inputs()[input] : nullptr;
}

bool AreStatic(absl::Span<Value* const> values) {
  return std::all_of(values.begin(), values.end(),
                     [](const Value* v) { return v == nullptr || v->is_static(); });
}

// What is added to scores [batch, heads, queries, keys], and what remains for the op.
struct Selection {
  Value* mask = nullptr;
  bool is_causal = false;
};

Selection SelectionOf(Graph& graph, const Node& node, int64_t queries, int64_t keys) {
  const Value* past = Optional(node, kPastKeys);
  Value* given = Optional(node, kAttentionMask);
  Value* lengths = Optional(node, kAttentionLengths);
  const bool is_causal = node.attrs().Int("is_causal", 0) != 0;
  const bool selects = given != nullptr && given->dtype() == DType::kBool;
  Selection found{.mask = selects ? nullptr : given};
  Value* seen = selects ? given : nullptr;
  const DType dtype = (found.mask != nullptr ? *found.mask : node.input(0)).dtype();
  if (lengths != nullptr) {
    seen = &Joined(graph, "And", seen, Counted(graph, *lengths, queries, keys, is_causal));
  } else if (is_causal) {
    const int64_t before = past != nullptr ? past->dim(2) : 0;
    found.is_causal = given == nullptr && before == 0;
    const bool hides = !found.is_causal && keys > before + 1;  // from the first query
    if (hides && selects) {
      seen = &Joined(graph, "And", seen, SeenInOrder(graph, DType::kBool, queries, keys, before));
    } else if (hides) {
      found.mask =
          &Joined(graph, "Add", found.mask, SeenInOrder(graph, dtype, queries, keys, before));
    }
  }
  if (seen == nullptr) return found;
  Value& zero = graph.AddConstant(ScalarOf(dtype, 0), "zero");
  Value& hidden = graph.AddConstant(ScalarOf(dtype, kHidden), "hidden");
  Value& chosen =
      ComputedOnce(graph, "Where", {seen, &zero, &hidden}, Type::Tensor(dtype, seen->dims()));
  found.mask = &Joined(graph, "Add", found.mask, chosen);
  return found;
}

class LowerAttentionPass final : public OpPass {
 public:
  LowerAttentionPass() : OpPass("lower-attention", {"Attention"}) {}

  absl::StatusOr<Match> Visit(Graph& graph, Node& node) override {
    const Target* target = context().target;
    if (target == nullptr || target->info.compute_capability == 0) return Match::None();
    if (!AreStatic(node.inputs()) || !AreStatic(node.outputs())) return Match::None();
    const EngineOffers offers = OffersAt(graph, node, *target);
    if (offers.any_within_fit) return Match::None();
    if (const std::string_view why = WhyNot(node); !why.empty()) return Match::No(node, why);
    const int first_added = graph.node_ids();
    if (!Replace(graph, node, offers.any)) {
      for (int id = graph.node_ids() - 1; id >= first_added; --id) {
        if (Node* added = graph.node(id)) graph.Remove(*added);
      }
      return Match::No(node, "no engine takes another form of it");
    }
    return Match::Changed();
  }

 private:
  // "" if nothing speaks against it.
  static std::string_view WhyNot(const Node& node) {
    const Attrs& attrs = node.attrs();
    const Value &q = node.input(0), &k = node.input(1);
    if (!kTypes.Has(q.dtype())) return "it is not of f16 or bf16";
    if (attrs.Float("softcap", 0) != 0) return "its scores are capped";
    if (attrs.Int("left_window_size", -1) >= 0 || attrs.Int("right_window_size", -1) >= 0) {
      return "it has a window";
    }
    if (node.has_output(3)) return "it gives its scores too";
    const bool has_past = node.has_input(kPastKeys) && node.has_input(kPastValues);
    if (!has_past && (node.has_output(1) || node.has_output(2))) return "its cache has no past";
    if (q.rank() != k.rank()) return "its operands have not the same rank";
    const int64_t queries = q.dim(q.rank() - 2);
    const int64_t keys = k.dim(k.rank() - 2) + (has_past ? node.input(kPastKeys).dim(2) : 0);
    if (queries * keys > kMostPairs) return "a mask for it would be large";
    const Value* mask = Optional(node, kAttentionMask);
    const bool covers = mask == nullptr || (mask->rank() > 0 && mask->rank() <= 4 &&
                                            mask->dim(mask->rank() - 1) == keys);
    return covers ? "" : "its mask has not one element per key";
  }

  // Whether an Engine takes what then stands in its place. `has_offers`: only one within its fit
  // is better than what there is.
  bool Replace(Graph& graph, Node& node, bool has_offers) const {
    const Attrs& attrs = node.attrs();
    Value &q = HeadsOf(graph, *node.inputs()[0], attrs.Int("q_num_heads", 1)),
          &k = HeadsOf(graph, *node.inputs()[1], attrs.Int("kv_num_heads", 1)),
          &v = HeadsOf(graph, *node.inputs()[2], attrs.Int("kv_num_heads", 1));
    Value &keys = Behind(graph, Optional(node, kPastKeys), k),
          &values = Behind(graph, Optional(node, kPastValues), v);
    const Selection selection = SelectionOf(graph, node, q.dim(2), keys.dim(2));
    NodeSpec spec{.op = "Attention",
                  .inputs = {&q, &keys, &values},
                  .attrs = {{"scale", AttentionScale(node, q.dim(3))}},
                  .outputs = {node.output(0).name()},
                  .name = node.name()};
    if (selection.mask != nullptr) spec.inputs.push_back(&SafeMask(graph, *selection.mask));
    if (selection.is_causal) spec.attrs.Set("is_causal", int64_t{1});
    Value& heads =
        Typed(graph, std::move(spec), q.dtype(), {q.dim(0), q.dim(1), q.dim(2), values.dim(3)});
    const EngineOffers offers = OffersAt(graph, *heads.producer(), *context().target);
    if (!offers.any_within_fit && (has_offers || !offers.any)) return false;
    Value& y = node.output(0);
    Value& result = y.rank() == 4 ? heads : Reshaped(graph, Exchanged(graph, heads), y.dims());
    graph.ReplaceAllUses(y, result);
    if (node.has_output(1)) graph.ReplaceAllUses(node.output(1), keys);
    if (node.has_output(2)) graph.ReplaceAllUses(node.output(2), values);
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> LowerAttention() { return std::make_unique<LowerAttentionPass>(); }

}  // namespace onnx_cudnn
