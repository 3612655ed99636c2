// Joins the products that project one Value to the heads of an attention:
//   q = x·Wq + bq, k = x·Wk + bk, v = x·Wv + bv ⇒ y = x·[Wq Wk Wv] + [bq bk bv], q, k, v = Slices
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
  const Value* bias = nullptr;  // one number per column; nullptr: none
  Value* y = nullptr;
  int64_t columns() const { return product->input(1).dim(1); }
};

// The only reader of `value`; nullptr: there are others.
Node* OnlyReader(const Value& value) {
  return value.has_one_use() && !value.uses().empty() ? value.uses()[0].node : nullptr;
}

bool IsBias(const Value& value, int64_t columns) {
  return value.is_constant() && value.rank() == 1 && value.dim(0) == columns;
}

std::optional<Projection> ProjectionBy(Node& product, const Value& x) {
  const bool multiplies = IsOp(&product, {"MatMul"}) && &product.input(0) == &x;
  if (!multiplies || !product.output(0).is_static()) return std::nullopt;
  const Value& weight = product.input(1);
  if (!weight.is_constant() || weight.rank() != 2 || x.rank() < 2) return std::nullopt;
  Projection found{.product = &product, .y = &product.output(0)};
  Node* reader = OnlyReader(*found.y);
  if (IsOp(reader, {"Add"})) {
    const Value& addend = reader->input(&reader->input(0) == found.y ? 1 : 0);
    if (!IsBias(addend, found.columns())) return std::nullopt;
    found.bias = &addend;
    found.y = &reader->output(0);
    reader = OnlyReader(*found.y);
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

HostTensor Zeros(DType dtype, int64_t count) {
  HostTensor zeros = HostTensor::Allocate(dtype, {count});
  std::memset(zeros.mutable_raw(), 0, static_cast<size_t>(zeros.bytes()));
  return zeros;
}

class FuseProjectionsPass final : public NodePass {
 public:
  std::string_view name() const override { return "fuse-projections"; }
  bool StartsAt(const Node& node) const override { return IsOp(&node, {"MatMul"}); }

  absl::StatusOr<Match> Visit(Graph& graph, Node& first) override {
    if (!has_gpu() || !kTypes.Has(first.output(0).dtype())) return Match::None();
    const Value& x = first.input(0);
    const std::optional<Projection> own = ProjectionBy(first, x);
    if (!own.has_value() || x.is_constant() || x.uses().size() > kMostReaders) return Match::None();
    const Node* attention = AttentionBehind(*own);
    if (attention == nullptr) return Match::None();
    const std::vector<Projection> all = ProjectionsOf(x, *attention);
    if (all.size() < 2 || all[0].product != &first) return Match::None();
    if (all.size() > kMostProducts) return Match::No(first, "more than three products lead to it");
    return Fuse(graph, first.input(0), all);
  }

 private:
  // The products of x whose results `attention` reads, in the order in which they read x.
  static std::vector<Projection> ProjectionsOf(const Value& x, const Node& attention) {
    std::vector<Projection> all;
    for (const Use& use : x.uses()) {
      if (use.index != 0) continue;
      const std::optional<Projection> found = ProjectionBy(*use.node, x);
      if (found.has_value() && AttentionBehind(*found) == &attention) all.push_back(*found);
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

  // [x·Wq x·Wk …] + [bq bk …]
  static Value& Joined(Graph& graph, Value& x, const std::vector<Projection>& all) {
    std::vector<HostTensor> weights, biases;
    int64_t columns = 0;
    bool has_bias = false;
    for (const Projection& p : all) {
      weights.push_back(p.product->input(1).constant());
      biases.push_back(p.bias != nullptr ? p.bias->constant()
                                         : Zeros(weights.back().dtype(), p.columns()));
      has_bias = has_bias || p.bias != nullptr;
      columns += p.columns();
    }
    Value& weight = graph.AddConstant(SideBySide(weights, weights[0].dims()[0], true),
                                      all[0].product->input(1).name());
    Dims dims = x.dims();
    dims.back() = columns;
    Node& product =
        graph.AddNode({.op = "MatMul", .inputs = {&x, &weight}, .name = all[0].product->name()});
    graph.SetType(product.output(0), Type::Tensor(x.dtype(), dims));
    if (!has_bias) return product.output(0);
    Value& bias = graph.AddConstant(SideBySide(biases, 1, false), "bias");
    Node& add = graph.AddNode({.op = "Add", .inputs = {&product.output(0), &bias}});
    graph.SetType(add.output(0), Type::Tensor(x.dtype(), dims));
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
    Value& whole = Joined(graph, x, all);
    double before_us = 0;
    for (const Projection& p : all) before_us += LeastUs(graph, *p.product);
    const bool is_faster = LeastUs(graph, *graph.node(first_added)) <= before_us;
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
