// Joins the products that project one Value to the heads of an attention:
//   q = x·Wq + bq, k = x·Wk + bk, v = x·Wv + bv ⇒ y = x·[Wq Wk Wv] + [bq bk bv], q, k, v = Slices
// Weights are constants, or Transpose(DequantizeLinear) of constants that have a row per column.
// Runs on static Graphs after attentions are fused, for those products whose Slices an Engine reads
// in place, so that nothing copies them, if the one product is predicted to take no longer than
// those that it replaces.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "passes/rewrite/rewrites.h"
#include "passes/rewrite/utils/engine_offers.h"
#include "passes/rewrite/utils/is_op.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

constexpr DTypeSet kTypes = {DType::kF16, DType::kBF16};
constexpr size_t kMostProducts = 3, kMostReaders = 64;

// x·weight [+ bias], which a Reshape splits into heads.
struct Projection {
  const Node* product = nullptr;
  const Node* dequantize = nullptr;  // of its weight; nullptr: the weight is a constant
  const Value* bias = nullptr;       // one number per column; nullptr: none
  Value* y = nullptr;
  int64_t columns() const { return product->input(1).dim(1); }
};

bool IsBias(const Value& value, int64_t columns) {
  return value.is_constant() && value.rank() == 1 && value.dim(0) == columns;
}

// The DequantizeLinear of a constant whose rows, with scales and zero points of their own, become
// the columns of `weight`; nullptr: it is something else.
const Node* DequantizeOf(const Value& weight) {
  const Node* const transpose = weight.producer();
  if (!IsOp(transpose, {"Transpose"}) || weight.only_reader() == nullptr) return nullptr;
  if (transpose->attrs().Ints("perm") != std::vector<int64_t>{1, 0}) return nullptr;
  const Node* const node = transpose->input(0).producer();
  if (!IsOp(node, {"DequantizeLinear"}) || node->output(0).only_reader() == nullptr) return nullptr;
  const int64_t axis = node->attrs().Int("axis", 1);
  if ((axis != 1 && axis != -1) || node->attrs().Int("block_size", 0) == 0) return nullptr;
  for (const Value* v : node->inputs()) {
    if (v == nullptr) continue;
    const bool whole_bytes = v->is_constant() && v->rank() == 2 && v->is_static() &&
                             v->dim(1) * BitsOf(v->dtype()) % 8 == 0;
    if (!whole_bytes) return nullptr;
  }
  return node;
}

// Whether the rows of both can stand in one constant.
bool AreAlike(const Node* a, const Node* b) {
  if (a == nullptr || b == nullptr) return a == b;
  if (a->attrs().Int("block_size", 0) != b->attrs().Int("block_size", 0)) return false;
  if (a->inputs().size() != b->inputs().size()) return false;
  for (size_t i = 0; i < a->inputs().size(); ++i) {
    const Value &p = a->input(static_cast<int>(i)), &q = b->input(static_cast<int>(i));
    if (p.dtype() != q.dtype() || p.dim(1) != q.dim(1)) return false;
  }
  return true;
}

std::optional<Projection> ProjectionBy(Node& product, const Value& x) {
  const bool multiplies = IsOp(&product, {"MatMul"}) && &product.input(0) == &x;
  if (!multiplies || !product.output(0).is_static()) return std::nullopt;
  const Value& weight = product.input(1);
  const Node* const dequantize = weight.is_constant() ? nullptr : DequantizeOf(weight);
  if (!weight.is_constant() && dequantize == nullptr) return std::nullopt;
  if (weight.rank() != 2 || x.rank() < 2) return std::nullopt;
  Projection found{.product = &product, .dequantize = dequantize, .y = &product.output(0)};
  Node* reader = found.y->only_reader();
  if (IsOp(reader, {"Add"})) {
    const Value& addend = reader->input(&reader->input(0) == found.y ? 1 : 0);
    if (!IsBias(addend, found.columns())) return std::nullopt;
    found.bias = &addend;
    found.y = &reader->output(0);
    reader = found.y->only_reader();
  }
  return IsOp(reader, {"Reshape"}) ? std::optional(found) : std::nullopt;
}

// The weights side by side, [rows, columns of all], or the biases, [columns of all].
HostTensor SideBySide(const std::vector<HostTensor>& parts, int64_t rows, bool is_matrix) {
  int64_t columns = 0;
  for (const HostTensor& part : parts) columns += part.dims().back();
  const int64_t bytes = BitsOf(parts[0].dtype()) / 8;
  HostTensor all =
      HostTensor::Allocate(parts[0].dtype(), is_matrix ? Dims{rows, columns} : Dims{columns});
  char* to = static_cast<char*>(all.mutable_raw());
  for (int64_t row = 0; row < rows; ++row) {
    for (const HostTensor& part : parts) {
      const int64_t width = part.dims().back() * bytes;
      std::memcpy(to, static_cast<const char*>(part.raw()) + row * width,
                  static_cast<size_t>(width));
      to += width;
    }
  }
  return all;
}

// The rows of all, one below the other. Rows are whole bytes.
HostTensor Stacked(const std::vector<HostTensor>& parts) {
  int64_t rows = 0;
  for (const HostTensor& part : parts) rows += part.dims()[0];
  HostTensor all = HostTensor::Allocate(parts[0].dtype(), {rows, parts[0].dims()[1]});
  char* to = static_cast<char*>(all.mutable_raw());
  for (const HostTensor& part : parts) {
    std::memcpy(to, part.raw(), static_cast<size_t>(part.bytes()));
    to += part.bytes();
  }
  return all;
}

HostTensor Zeros(DType dtype, int64_t count) {
  HostTensor zeros = HostTensor::Allocate(dtype, {count});
  std::memset(zeros.mutable_raw(), 0, static_cast<size_t>(zeros.bytes()));
  return zeros;
}

class FuseProjectionsPass final : public OpPass {
 public:
  FuseProjectionsPass() : OpPass("fuse-projections", {"MatMul"}) {}

  absl::StatusOr<Match> Visit(Graph& graph, Node& first) override {
    if (!has_gpu() || !kTypes.Has(first.output(0).dtype())) return Match::None();
    const Value& x = first.input(0);
    const std::optional<Projection> own = ProjectionBy(first, x);
    if (!own.has_value() || x.is_constant() || x.uses().size() > kMostReaders) return Match::None();
    const Node* attention = AttentionBehind(*own);
    if (attention == nullptr) return Match::None();
    const std::vector<Projection> all = ProjectionsOf(x, *attention, own->dequantize);
    if (all.size() < 2 || all[0].product != &first) return Match::None();
    if (all.size() > kMostProducts) return Match::No(first, "more than three products lead to it");
    return Fuse(graph, first.input(0), all);
  }

 private:
  // The products of x, with weights like those of `dequantize`, whose results `attention` reads, in
  // the order in which they read x.
  static std::vector<Projection> ProjectionsOf(const Value& x, const Node& attention,
                                               const Node* dequantize) {
    std::vector<Projection> all;
    for (const Use& use : x.uses()) {
      if (use.index != 0) continue;
      const std::optional<Projection> found = ProjectionBy(*use.node, x);
      if (!found.has_value() || AttentionBehind(*found) != &attention) continue;
      if (AreAlike(dequantize, found->dequantize)) all.push_back(*found);
    }
    return all;
  }

  // The Nodes that may read `value`, or what becomes of it, up to the next attention.
  static std::vector<const Node*> ReadersOf(const Value& value) {
    constexpr size_t kMost = 24;
    std::vector<const Node*> found;
    std::vector<const Value*> open = {&value};
    for (size_t i = 0; i < open.size() && found.size() < kMost; ++i) {
      for (const Use& use : open[i]->uses()) {
        if (std::find(found.begin(), found.end(), use.node) != found.end()) continue;
        found.push_back(use.node);
        if (IsOp(use.node, {"Attention", "MatMul", "Gemm"})) continue;
        for (const Value* y : use.node->outputs()) {
          if (y != nullptr) open.push_back(y);
        }
      }
    }
    return found;
  }

  // The attention that reads what becomes of the result; nullptr: there is none.
  static const Node* AttentionBehind(const Projection& projection) {
    const std::vector<const Node*> readers = ReadersOf(*projection.y);
    const auto at = std::find_if(readers.begin(), readers.end(),
                                 [](const Node* node) { return IsOp(node, {"Attention"}); });
    return at == readers.end() ? nullptr : *at;
  }

  // Whether the part is contiguous, or an Engine reads it in place with a Node that reads it.
  bool IsReadInPlace(const Graph& graph, const Node& slice) const {
    if (OffersOf("view", graph, slice, *context().target, &slice).any_with) return true;
    const std::vector<const Node*> readers = ReadersOf(slice.output(0));
    return std::any_of(readers.begin(), readers.end(), [&](const Node* reader) {
      return OffersAt(graph, *reader, *context().target, &slice).any_with;
    });
  }

  // [Wq Wk …]
  static Value& JoinedWeight(Graph& graph, const std::vector<Projection>& all) {
    const Value& own = all[0].product->input(1);
    std::vector<HostTensor> weights;
    if (all[0].dequantize == nullptr) {
      for (const Projection& p : all) weights.push_back(p.product->input(1).constant());
      return graph.AddConstant(SideBySide(weights, weights[0].dims()[0], true), own.name());
    }
    const Node& like = *all[0].dequantize;
    std::vector<Value*> inputs;
    for (size_t i = 0; i < like.inputs().size(); ++i) {
      std::vector<HostTensor> parts;
      for (const Projection& p : all) {
        parts.push_back(p.dequantize->input(static_cast<int>(i)).constant());
      }
      inputs.push_back(&graph.AddConstant(Stacked(parts), like.input(static_cast<int>(i)).name()));
    }
    const int64_t rows = inputs[0]->dim(0), depth = inputs[0]->dim(1);
    Node& dequantize = graph.AddNode(
        {.op = like.op(), .inputs = std::move(inputs), .attrs = like.attrs(), .name = like.name()});
    graph.SetType(dequantize.output(0), Type::Tensor(own.dtype(), {rows, depth}));
    Node& transpose = graph.AddNode({.op = "Transpose",
                                     .inputs = {&dequantize.output(0)},
                                     .attrs = {{"perm", std::vector<int64_t>{1, 0}}}});
    graph.SetType(transpose.output(0), Type::Tensor(own.dtype(), {depth, rows}));
    return transpose.output(0);
  }

  // x·[Wq Wk …]
  static Node& JoinedProduct(Graph& graph, Value& x, const std::vector<Projection>& all) {
    Value& weight = JoinedWeight(graph, all);
    Dims dims = x.dims();
    dims.back() = weight.dim(1);
    Node& product =
        graph.AddNode({.op = "MatMul", .inputs = {&x, &weight}, .name = all[0].product->name()});
    graph.SetType(product.output(0), Type::Tensor(x.dtype(), dims));
    return product;
  }

  // product + [bq bk …]
  static Value& WithBias(Graph& graph, const Node& product, const std::vector<Projection>& all) {
    Value& y = graph.Mutable(product.output(0));
    std::vector<HostTensor> biases;
    bool has_bias = false;
    for (const Projection& p : all) {
      biases.push_back(p.bias != nullptr ? p.bias->constant() : Zeros(y.dtype(), p.columns()));
      has_bias = has_bias || p.bias != nullptr;
    }
    if (!has_bias) return y;
    Value& bias = graph.AddConstant(SideBySide(biases, 1, false), "bias");
    Node& add = graph.AddNode({.op = "Add", .inputs = {&y, &bias}});
    graph.SetType(add.output(0), y.type());
    return add.output(0);
  }

  static Node& SliceOf(Graph& graph, Value& whole, int64_t begin, const Value& like) {
    const auto ints = [&](int64_t n, std::string_view name) -> Value* {
      return &graph.AddConstant(HostTensor::Ints({n}), name);
    };
    Node& slice = graph.AddNode(
        {.op = "Slice",
         .inputs = {&whole, ints(begin, "begin"), ints(begin + like.dims().back(), "end"),
                    ints(whole.rank() - 1, "axis")}});
    graph.SetType(slice.output(0), like.type());
    return slice;
  }

  double LeastUs(const Graph& graph, const Node& product) const {
    return OffersAt(graph, product, *context().target).alone_us;
  }

  // Joins the products, or leaves the Graph as it is if that is not better.
  //   in_place  those whose parts an Engine would read in place
  bool Join(Graph& graph, Value& x, const std::vector<Projection>& all,
            std::vector<Projection>& in_place) const {
    const int first_added = graph.node_ids();
    const Node& product = JoinedProduct(graph, x, all);
    Value& whole = WithBias(graph, product, all);
    double before_us = 0;
    for (const Projection& p : all) before_us += LeastUs(graph, *p.product);
    const bool is_faster = LeastUs(graph, product) <= before_us;
    std::vector<Node*> slices;
    int64_t begin = 0;
    for (const Projection& p : all) {
      slices.push_back(&SliceOf(graph, whole, begin, *p.y));
      begin += p.columns();
      graph.ReplaceAllUses(*p.y, slices.back()->output(0));
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (IsReadInPlace(graph, *slices[i])) in_place.push_back(all[i]);
    }
    if (is_faster && in_place.size() == all.size()) return true;
    for (size_t i = 0; i < all.size(); ++i) {
      graph.ReplaceAllUses(slices[i]->output(0), *all[i].y);
    }
    for (int id = graph.node_ids() - 1; id >= first_added; --id) graph.Remove(*graph.node(id));
    return false;
  }

  Match Fuse(Graph& graph, Value& x, std::vector<Projection> all) const {
    const Node& first = *all[0].product;
    while (all.size() >= 2) {
      std::vector<Projection> in_place;
      if (Join(graph, x, all, in_place)) return Match::Changed();
      if (in_place.size() == all.size()) {
        return Match::No(first, "one product is predicted to take longer than several");
      }
      all = std::move(in_place);
    }
    return Match::No(first, "no engine reads the parts of one product in place");
  }
};

}  // namespace

std::unique_ptr<Pass> FuseProjections() { return std::make_unique<FuseProjectionsPass>(); }

}  // namespace onnx_cudnn
