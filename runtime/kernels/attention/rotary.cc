#include "runtime/kernels/attention/rotary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/common/kernel.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

using NodeList = std::vector<const Node*>;

constexpr DTypeSet kRotaryTypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr size_t kMostWalked = 32;  // Nodes from an anchor to the end

bool IsOp(const Node* node, std::string_view op) {
  return node != nullptr && node->domain().empty() && node->op() == op;
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

// Whether an Add may be within an embedding: pairs are joined behind it.
bool IsBeforePairs(const Node& add) {
  const Node* reader = add.output(0).only_reader();
  if (IsOp(reader, "Unsqueeze") || IsOp(reader, "Reshape"))
    reader = reader->output(0).only_reader();
  return IsOp(reader, "Concat");
}

// The embedding that `end` computes, with the channels that are only moved.
std::optional<Rotary> WholeRotaryAt(const Node& end) {
  std::optional<Rotary> rotary = RotaryAt(end);
  const Node* concat = rotary.has_value() ? end.output(0).only_reader() : nullptr;
  if (!IsOp(concat, "Concat")) return rotary;
  std::optional<Rotary> whole = RotaryAt(*concat);
  return whole.has_value() ? whole : rotary;
}

// The embeddings of which `anchor` may be a part.
std::vector<Rotary> RotariesBehind(const Node& anchor) {
  NodeList seen = {&anchor};
  std::vector<Rotary> found;
  for (size_t i = 0; i < seen.size() && seen.size() < kMostWalked; ++i) {
    if (std::optional<Rotary> rotary = WholeRotaryAt(*seen[i])) {
      found.push_back(*std::move(rotary));
      continue;
    }
    if (IsOp(seen[i], "Add") && !IsBeforePairs(*seen[i])) continue;
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
  if (rows.elements() == 0) return false;
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
    if (append == nullptr || rotary.y().dims() != rotary.x->dims()) continue;
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

// Rotary embeddings, row-major, in one launch for one or for two out of the same Value: of halves
// or of neighbours, of all channels or of the first ones. Slices, Reshapes and Transposes that only
// say where x lies in a larger Value join as strides. Keys may be put into a cache, and values out
// of the same Value into another one at the same places.
Kernel RotaryKernel() {
  return {.ops = {"Concat", "Mul", "Reshape", "Slice", "Split", "Transpose"},
          .types = kRotaryTypes,
          .cores = CoresAt,
          .takes = Takes,
          .speed = {.reads_what_it_writes = true}};
}

}  // namespace onnx_cudnn
