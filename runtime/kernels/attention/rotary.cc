#include "runtime/kernels/attention/rotary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

using NodeList = std::vector<const Node*>;

constexpr DTypeSet kRotaryTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr size_t kMostWalked = 24;  // Nodes from an anchor to the sum

bool IsOp(const Node* node, std::string_view op) {
  return node != nullptr && node->domain().empty() && node->op() == op;
}

// The producer of `value` if its op is `op` and nothing else reads the Value; nullptr otherwise.
const Node* OwnWriter(const Value& value, std::string_view op) {
  return IsOp(value.producer(), op) && value.has_one_use() ? value.producer() : nullptr;
}

// What `half` is a half of (0: the first) along the last axis; nullptr: of nothing.
const Value* HalvedBy(const Value& half, int which) {
  const Node* node = half.producer();
  if (node == nullptr || !half.is_static()) return nullptr;
  if ((!IsOp(node, "Slice") && !IsOp(node, "Split")) || !IsViewNode(*node)) return nullptr;
  const Value& x = node->input(0);
  Dims dims = x.dims();
  if (dims.empty() || dims.back() % 2 != 0) return nullptr;
  dims.back() /= 2;
  const std::optional<StridedView> view = ViewThrough(half, {&node, 1});
  const bool is_half =
      view.has_value() && view->dims == dims && view->offset == which * dims.back();
  return is_half ? &x : nullptr;
}

bool JoinsTwo(const Node& concat) {
  const int rank = concat.output(0).rank();
  return concat.inputs().size() == 2 &&
         NormalizedAxis(concat.attrs().Int("axis", 0), rank) == rank - 1;
}

// Fills in what the product of the exchanged halves with `sines` tells. False: it is none.
bool ReadExchanged(const Node& product, int side, Rotary& rotary) {
  const Node* concat = OwnWriter(product.input(side), "Concat");
  if (concat == nullptr || !JoinsTwo(*concat)) return false;
  const Node* negation = OwnWriter(concat->input(0), "Neg");
  if (negation == nullptr) return false;
  const Value& first = concat->input(1);
  const Value& second = negation->input(0);
  if (!first.has_one_use() || !second.has_one_use()) return false;
  rotary.x = HalvedBy(first, 0);
  if (rotary.x == nullptr || HalvedBy(second, 1) != rotary.x) return false;
  rotary.sines = &product.input(1 - side);
  rotary.nodes = {first.producer()};
  if (second.producer() != first.producer()) rotary.nodes.push_back(second.producer());
  rotary.nodes.insert(rotary.nodes.end(), {negation, concat, &product});
  return true;
}

// Whether it is `count` numbers for each row of y, or for each of some rows.
bool AreAngles(const Value& value, const Value& y, int64_t count) {
  if (!value.is_static() || value.dtype() != y.dtype() || value.rank() < 1) return false;
  return value.rank() <= y.rank() && value.dim(value.rank() - 1) == count;
}

bool IsReadOutside(const Node& node, const NodeList& nodes) {
  const auto is_outside = [&](const Use& use) {
    return std::find(nodes.begin(), nodes.end(), use.node) == nodes.end();
  };
  for (const Value* v : node.outputs()) {
    if (v == nullptr) continue;
    if (v->is_graph_output() || std::any_of(v->uses().begin(), v->uses().end(), is_outside)) {
      return true;
    }
  }
  return false;
}

// What `product` multiplies the half `which` of x with; nullptr: it does not.
const Value* FactorsOf(const Node* product, int which, const Value& x) {
  if (product == nullptr) return nullptr;
  for (const int side : {0, 1}) {
    if (HalvedBy(product->input(side), which) == &x) return &product->input(1 - side);
  }
  return nullptr;
}

// The embedding of x in the form Concat(x₁·c − x₂·s, x₂·c + x₁·s) that `concat` ends.
std::optional<Rotary> RotaryOfHalves(const Node& concat, const Value& x) {
  const Node *first = concat.input(0).producer(), *second = concat.input(1).producer();
  const Node *kept = OwnWriter(first->input(0), "Mul"), *turned = OwnWriter(first->input(1), "Mul");
  Rotary rotary{.x = &x, .cosines = FactorsOf(kept, 0, x), .sines = FactorsOf(turned, 1, x)};
  if (rotary.cosines == nullptr || rotary.sines == nullptr) return std::nullopt;
  for (const int side : {0, 1}) {
    const Node *c = OwnWriter(second->input(side), "Mul"),
               *s = OwnWriter(second->input(1 - side), "Mul");
    if (FactorsOf(c, 1, x) != rotary.cosines || FactorsOf(s, 0, x) != rotary.sines) continue;
    NodeList nodes;
    for (const Node* product : {kept, turned, c, s}) {
      const int half = &product->input(0) == rotary.cosines || &product->input(0) == rotary.sines;
      const Node* writer = product->input(half).producer();
      if (std::find(nodes.begin(), nodes.end(), writer) == nodes.end()) nodes.push_back(writer);
    }
    const size_t halves = nodes.size();
    nodes.insert(nodes.end(), {kept, turned, first, c, s, second, &concat});
    for (size_t i = 0; i < halves; ++i) {
      if (IsReadOutside(*nodes[i], nodes)) return std::nullopt;
    }
    rotary.nodes = std::move(nodes);
    return rotary;
  }
  return std::nullopt;
}

// As the standard defines RotaryEmbedding.
std::optional<Rotary> RotaryAtConcat(const Node& concat) {
  if (!JoinsTwo(concat)) return std::nullopt;
  const Node *first = OwnWriter(concat.input(0), "Sub"),
             *second = OwnWriter(concat.input(1), "Add");
  const Node* kept = first == nullptr ? nullptr : OwnWriter(first->input(0), "Mul");
  if (kept == nullptr || second == nullptr) return std::nullopt;
  for (const Value* half : kept->inputs()) {
    const Value* x = HalvedBy(*half, 0);
    std::optional<Rotary> rotary = x == nullptr ? std::nullopt : RotaryOfHalves(concat, *x);
    if (!rotary.has_value()) continue;
    const Value& y = concat.output(0);
    const int64_t count = x->dim(x->rank() - 1) / 2;
    const bool fits = x->dims() == y.dims() && x->dtype() == y.dtype() &&
                      AreAngles(*rotary->cosines, y, count) && AreAngles(*rotary->sines, y, count);
    if (fits) return rotary;
  }
  return std::nullopt;
}

// In the form x·cosines + Concat(−x₂, x₁)·sines.
std::optional<Rotary> RotaryAtAdd(const Node& add) {
  for (const int side : {0, 1}) {
    const Node* exchanged = OwnWriter(add.input(side), "Mul");
    const Node* kept = OwnWriter(add.input(1 - side), "Mul");
    if (exchanged == nullptr || kept == nullptr || exchanged == kept) continue;
    Rotary rotary;
    if (!ReadExchanged(*exchanged, 0, rotary) && !ReadExchanged(*exchanged, 1, rotary)) continue;
    const int x = &kept->input(0) == rotary.x ? 0 : 1;
    if (&kept->input(x) != rotary.x) continue;
    rotary.cosines = &kept->input(1 - x);
    rotary.nodes.insert(rotary.nodes.end(), {kept, &add});
    const Value& y = add.output(0);
    const int64_t count = y.dim(y.rank() - 1);
    const bool fits = rotary.x->dims() == y.dims() && rotary.x->dtype() == y.dtype() &&
                      AreAngles(*rotary.cosines, y, count) && AreAngles(*rotary.sines, y, count);
    if (fits) return rotary;
  }
  return std::nullopt;
}

// `nodes`, which read x, with the Nodes before them that only say where x lies.
NodeList WithViews(const Value& x, NodeList nodes) {
  const Node* node = x.producer();
  while (node != nullptr && IsViewNode(*node) && !IsReadOutside(*node, nodes)) {
    nodes.insert(nodes.begin(), node);
    const std::optional<StridedView> view = ViewThrough(x, nodes);
    if (!view.has_value() || view->strides.back() != 1) {
      nodes.erase(nodes.begin());
      break;
    }
    node = node->input(0).producer();
  }
  return nodes;
}

NodeList WithViews(const Rotary& rotary) { return WithViews(*rotary.x, rotary.nodes); }

// The embeddings of which `anchor` may be a part.
std::vector<Rotary> RotariesBehind(const Node& anchor) {
  NodeList seen = {&anchor};
  std::vector<Rotary> found;
  for (size_t i = 0; i < seen.size() && seen.size() < kMostWalked; ++i) {
    if (std::optional<Rotary> rotary = RotaryAt(*seen[i])) {
      found.push_back(*std::move(rotary));
      continue;
    }
    if (IsOp(seen[i], "Add") && !IsOp(seen[i]->output(0).only_reader(), "Concat")) continue;
    if (seen[i] != &anchor && IsOp(seen[i], "MatMul")) continue;
    for (const Value* v : seen[i]->outputs()) {
      if (v == nullptr) continue;
      for (const Use& use : v->uses()) {
        if (std::find(seen.begin(), seen.end(), use.node) == seen.end()) seen.push_back(use.node);
      }
    }
  }
  return found;
}

// The Value in which x lies, seen through `nodes`.
const Value& SourceOf(const Value& x, const NodeList& nodes) {
  const std::optional<StridedView> view = ViewThrough(x, nodes);
  return view.has_value() ? *view->source : x;
}

// Another embedding whose x lies in `source`; nullopt: there is none, or there are several.
std::optional<Rotary> PartnerOf(const Rotary& rotary, const Value& source) {
  std::optional<Rotary> partner;
  for (const Use& use : source.uses()) {
    for (Rotary& found : RotariesBehind(*use.node)) {
      const Node* end = found.nodes.back();
      if (end == rotary.nodes.back()) continue;
      if (partner.has_value() && partner->nodes.back() == end) continue;
      if (found.x->dtype() != rotary.x->dtype()) continue;
      if (&SourceOf(*found.x, WithViews(found)) != &source) continue;
      if (partner.has_value()) return std::nullopt;
      partner = std::move(found);
    }
  }
  return partner;
}

bool Has(const NodeList& nodes, const Node& node) {
  return std::find(nodes.begin(), nodes.end(), &node) != nodes.end();
}

// Whether a TensorScatter puts rows of the last axis into a cache, as one Node.
bool IsAppend(const Node& node) {
  if (!IsOp(&node, "TensorScatter") || !node.has_input(2)) return false;
  const Value &past = node.input(0), &rows = node.input(1);
  if (!past.is_static() || !rows.is_static() || past.rank() < 3) return false;
  if (rows.dim(rows.rank() - 1) % 2 != 0) return false;
  return NormalizedAxis(node.attrs().Int("axis", -2), past.rank()) == past.rank() - 2;
}

// The TensorScatter that alone reads `rows`, as what it puts into a cache; nullptr: another reads.
const Node* AppendOf(const Value& rows) {
  const Node* reader = rows.only_reader();
  return reader != nullptr && rows.uses()[0].index == 1 && IsAppend(*reader) ? reader : nullptr;
}

// `nodes` with the moves of their embeddings to caches, and of other rows out of `source` to caches
// at the same places.
NodeList WithCaches(NodeList nodes, const Value& source) {
  const Value* places = nullptr;
  for (const Rotary& rotary : RotariesOf(nodes)) {
    const Node* append = AppendOf(rotary.y());
    if (append == nullptr) continue;
    nodes.push_back(append);
    places = &append->input(2);
  }
  if (places == nullptr) return nodes;
  for (const Use& use : places->uses()) {
    if (use.index != 2 || !IsAppend(*use.node) || Has(nodes, *use.node)) continue;
    const Value& rows = use.node->input(1);
    const NodeList moved = WithViews(rows, {use.node});
    if (&SourceOf(rows, moved) != &source || moved.size() == 1) continue;
    if (RotariesOf(nodes).size() == kMostRotaries) break;
    nodes.insert(nodes.end(), moved.begin(), moved.end());
  }
  return nodes;
}

// The embeddings that are put into a cache at the same places as what `anchor` moves.
std::vector<Rotary> RotariesBeside(const Node& anchor) {
  const Node* append = &anchor;
  while (append != nullptr && IsViewNode(*append)) append = append->output(0).only_reader();
  if (append == nullptr || !IsAppend(*append)) return {};
  std::vector<Rotary> found;
  for (const Use& use : append->input(2).uses()) {
    if (use.index != 2 || !IsAppend(*use.node)) continue;
    const Node* end = use.node->input(1).producer();
    std::optional<Rotary> rotary = end == nullptr ? std::nullopt : RotaryAt(*end);
    if (rotary.has_value()) found.push_back(*std::move(rotary));
  }
  return found;
}

// An embedding; with its views; with another one out of the same Value; and with their caches.
std::vector<NodeList> CoresBefore(const Rotary& rotary) {
  const NodeList with_views = WithViews(rotary);
  std::vector<NodeList> cores = {rotary.nodes};
  if (with_views.size() > rotary.nodes.size()) cores.push_back(with_views);
  const Value& source = SourceOf(*rotary.x, with_views);
  NodeList all = with_views;
  if (const std::optional<Rotary> partner = PartnerOf(rotary, source)) {
    NodeList second = WithViews(*partner);
    if (partner->nodes.back()->id() < rotary.nodes.back()->id()) std::swap(all, second);
    all.insert(all.end(), second.begin(), second.end());
    cores.push_back(all);
  }
  NodeList with_caches = WithCaches(all, source);
  if (with_caches.size() > all.size()) cores.push_back(std::move(with_caches));
  return cores;
}

// Those that contain `anchor`.
std::vector<NodeList> CoresAt(const Node& anchor) {
  std::vector<Rotary> rotaries = RotariesBehind(anchor);
  for (Rotary& rotary : RotariesBeside(anchor)) rotaries.push_back(std::move(rotary));
  for (const Rotary& rotary : rotaries) {
    std::vector<NodeList> cores = CoresBefore(rotary);
    std::erase_if(cores, [&](const NodeList& nodes) { return !Has(nodes, anchor); });
    if (!cores.empty()) return cores;
  }
  return {};
}

Support Takes(const Unit& core) {
  for (const Rotary& rotary : RotariesOf(core.nodes)) {
    if (rotary.x->rank() <= kMostRotaryRank && kRotaryTypes.Has(rotary.x->dtype())) continue;
    return Support::No(absl::StrCat(rotary.x->name(), " is ", ToString(rotary.x->type()),
                                    ", expected f32, f16 or bf16 of up to ", kMostRotaryRank,
                                    " axes"));
  }
  return Support::Yes();
}

}  // namespace

std::optional<Rotary> RotaryAt(const Node& end) {
  if (end.outputs().size() != 1 || !end.output(0).is_static()) return std::nullopt;
  if (IsOp(&end, "Concat")) return RotaryAtConcat(end);
  return IsOp(&end, "Add") ? RotaryAtAdd(end) : std::nullopt;
}

std::vector<Rotary> RotariesOf(absl::Span<const Node* const> nodes) {
  std::vector<Rotary> found;
  for (const Node* node : nodes) {
    if (std::optional<Rotary> rotary = RotaryAt(*node)) found.push_back(*std::move(rotary));
  }
  for (const Node* node : nodes) {
    if (!IsOp(node, "TensorScatter")) continue;
    const auto writer = std::find_if(found.begin(), found.end(), [&](const Rotary& rotary) {
      return rotary.append == nullptr && &rotary.y() == &node->input(1);
    });
    if (writer != found.end()) {
      writer->append = node;
    } else {
      found.push_back({.x = &node->input(1), .nodes = {node}, .append = node});
    }
  }
  return found;
}

// Rotary embeddings, row-major, in one launch for one or for two out of the same Value. Slices,
// Reshapes and Transposes that only say where x lies in a larger Value join as strides. Keys may be
// put into a cache, and values out of the same Value into another one at the same places.
Kernel RotaryKernel() {
  return {.ops = {"Concat", "Mul", "Reshape", "Slice", "Split", "Transpose"},
          .types = kRotaryTypes,
          .cores = CoresAt,
          .takes = Takes,
          .speed = {.reads_what_it_writes = true}};
}

}  // namespace onnx_cudnn
