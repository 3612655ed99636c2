// The forms in which a graph writes a rotary embedding.
#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "runtime/kernels/attention/rotary.h"
#include "runtime/ops/checks.h"

namespace onnx_cudnn {
namespace {

using NodeList = std::vector<const Node*>;

constexpr int kMostSlices = 2;  // from a row to a half of the channels that are turned

bool IsOp(const Node* node, std::string_view op) {
  return node != nullptr && node->domain().empty() && node->op() == op;
}

bool IsTaking(const Node* node) { return IsOp(node, "Slice") || IsOp(node, "Split"); }

// Of each row the channels begin, begin + step, …
struct Channels {
  int64_t begin, step, count;
  bool operator==(const Channels&) const = default;
};

bool HasConstantParameters(const Node& slice) {
  for (const int input : {1, 2, 3, 4}) {
    if (slice.has_input(input) && !slice.input(input).is_constant()) return false;
  }
  return true;
}

// Which channels of the rows of input 0 `part`, an output of a Slice or Split, has.
std::optional<Channels> TakenBy(const Node& node, const Value& part) {
  const Value& x = node.input(0);
  if (!x.is_static() || !part.is_static() || part.rank() < 1 || part.elements() == 0) {
    return std::nullopt;
  }
  const int last = part.rank() - 1;
  Dims rows = x.dims();
  rows.back() = part.dim(last);
  if (rows != part.dims()) return std::nullopt;
  Channels taken = {0, 1, part.dim(last)};
  if (node.op() == "Split") {
    const std::optional<StridedView> view = ViewThrough(part, NodeList{&node});
    if (!view.has_value()) return std::nullopt;
    taken.begin = view->offset;
    return taken;
  }
  if (!HasConstantParameters(node)) return std::nullopt;
  const std::vector<int64_t> axes = IntsAt(node, 3), steps = IntsAt(node, 4);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] < 1) return std::nullopt;
    const int64_t axis =
        i < axes.size() ? NormalizedAxis(axes[i], x.rank()) : static_cast<int64_t>(i);
    if (axis == last) taken.step = steps[i];
  }
  const std::optional<Dims> begin = BeginOfSlice(node);
  if (!begin.has_value()) return std::nullopt;
  taken.begin = begin->back();
  return taken;
}

// Which channels of x `part` has; nullopt: none of x.
std::optional<Channels> ChannelsOf(const Value& part, const Value& x) {
  if (!part.is_static() || part.rank() < 1) return std::nullopt;
  Channels found = {0, 1, part.dim(part.rank() - 1)};
  const Value* at = &part;
  for (int i = 0; i < kMostSlices && at != &x; ++i) {
    if (!IsTaking(at->producer())) return std::nullopt;
    const std::optional<Channels> taken = TakenBy(*at->producer(), *at);
    if (!taken.has_value()) return std::nullopt;
    found.begin = taken->begin + found.begin * taken->step;
    found.step *= taken->step;
    at = &at->producer()->input(0);
  }
  return at == &x ? std::optional(found) : std::nullopt;
}

// The Value of `dims` of which `part` has some channels; nullptr: of none.
const Value* RowsBehind(const Value& part, const Dims& dims) {
  const Value* at = &part;
  for (int i = 0; i < kMostSlices; ++i) {
    if (!IsTaking(at->producer())) return nullptr;
    at = &at->producer()->input(0);
    if (at->is_static() && at->dims() == dims) return at;
  }
  return nullptr;
}

// Whether `part` is the first (0) or the second member of each pair of turned channels.
bool IsMember(const Value& part, int which, const Rotary& rotary) {
  const int64_t half = rotary.turned / 2;
  const Channels member =
      rotary.interleaved ? Channels{which, 2, half} : Channels{which * half, 1, half};
  return ChannelsOf(part, *rotary.x) == member;
}

// Whether it is `count` numbers for each row of x, or for each of some rows.
bool AreAngles(const Value& value, const Value& x, int64_t count) {
  if (!value.is_static() || value.dtype() != x.dtype() || value.rank() < 1) return false;
  return value.rank() <= x.rank() && value.dim(value.rank() - 1) == count;
}

bool JoinsRows(const Node* concat) {
  if (!IsOp(concat, "Concat")) return false;
  const int rank = concat->output(0).rank();
  return NormalizedAxis(concat->attrs().Int("axis", 0), rank) == rank - 1;
}

// The members of all pairs of the turned channels, as they are joined.
struct Pairs {
  const Value *first, *second;
  bool interleaved;
};

// x, of which `unit` is each number as a row of its own; nullptr: `unit` is something else.
const Value* BeforeUnits(const Value& unit) {
  const Node* node = unit.producer();
  if (!IsOp(node, "Unsqueeze") && !IsOp(node, "Reshape")) return nullptr;
  const Value& x = node->input(0);
  if (!x.is_static() || !unit.is_static()) return nullptr;
  Dims dims = x.dims();
  dims.push_back(1);
  return dims == unit.dims() ? &x : nullptr;
}

std::optional<Pairs> PairsAt(const Node* node) {
  const bool interleaved = IsOp(node, "Reshape");
  const Node* concat = interleaved ? node->input(0).producer() : node;
  if (!JoinsRows(concat) || concat->inputs().size() != 2) return std::nullopt;
  Pairs pairs = {&concat->input(0), &concat->input(1), interleaved};
  if (!interleaved) return pairs;
  pairs.first = BeforeUnits(*pairs.first);
  pairs.second = BeforeUnits(*pairs.second);
  if (pairs.first == nullptr || pairs.second == nullptr) return std::nullopt;
  return pairs;
}

// What `product`, a Mul, multiplies member `which` of the pairs with; nullptr: it does not.
const Value* FactorsOf(const Node* product, int which, const Rotary& rotary) {
  if (!IsOp(product, "Mul")) return nullptr;
  for (const int side : {0, 1}) {
    if (IsMember(product->input(side), which, rotary)) return &product->input(1 - side);
  }
  return nullptr;
}

// Fills in x, of rows of `dims`, and the angles of first = x₁·cosines − x₂·sines and second =
// x₂·cosines + x₁·sines. False: they are something else.
bool ReadMembers(const Pairs& pairs, const Dims& dims, Rotary& rotary) {
  const Node *first = pairs.first->producer(), *second = pairs.second->producer();
  if (!IsOp(first, "Sub") || !IsOp(second, "Add")) return false;
  const Node *kept = first->input(0).producer(), *exchanged = first->input(1).producer();
  if (!IsOp(kept, "Mul")) return false;
  rotary.interleaved = pairs.interleaved;
  rotary.turned = 2 * pairs.first->dim(pairs.first->rank() - 1);
  for (const Value* factor : kept->inputs()) {
    rotary.x = RowsBehind(*factor, dims);
    if (rotary.x == nullptr) continue;
    rotary.cosines = FactorsOf(kept, 0, rotary);
    rotary.sines = FactorsOf(exchanged, 1, rotary);
    if (rotary.cosines == nullptr || rotary.sines == nullptr) continue;
    for (const int side : {0, 1}) {
      if (FactorsOf(second->input(side).producer(), 1, rotary) == rotary.cosines &&
          FactorsOf(second->input(1 - side).producer(), 0, rotary) == rotary.sines) {
        return true;
      }
    }
  }
  return false;
}

// The same for `add`, the turned channels times cosines and the exchanged ones times sines.
bool ReadSum(const Node& add, const Dims& dims, Rotary& rotary) {
  rotary.turned = add.output(0).dim(add.output(0).rank() - 1);
  for (const int side : {0, 1}) {
    const Node *kept = add.input(side).producer(), *product = add.input(1 - side).producer();
    if (!IsOp(kept, "Mul") || !IsOp(product, "Mul")) continue;
    for (const int factor : {0, 1}) {
      const std::optional<Pairs> pairs = PairsAt(product->input(factor).producer());
      if (!pairs.has_value() || !IsOp(pairs->first->producer(), "Neg")) continue;
      if (product->input(factor).dims() != add.output(0).dims()) continue;
      rotary.interleaved = pairs->interleaved;
      rotary.x = RowsBehind(*pairs->second, dims);
      if (rotary.x == nullptr || !IsMember(*pairs->second, 0, rotary)) continue;
      if (!IsMember(pairs->first->producer()->input(0), 1, rotary)) continue;
      rotary.sines = &product->input(1 - factor);
      for (const int turned : {0, 1}) {
        rotary.cosines = &kept->input(1 - turned);
        if (ChannelsOf(kept->input(turned), *rotary.x) == Channels{0, 1, rotary.turned}) {
          return true;
        }
      }
    }
  }
  return false;
}

// Appends the Nodes from x to `value`.
void CollectNodes(const Value& value, const Rotary& rotary, NodeList& nodes) {
  const Node* node = value.producer();
  if (node == nullptr || &value == rotary.x || &value == rotary.cosines || &value == rotary.sines) {
    return;
  }
  if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return;
  for (const Value* input : node->inputs()) {
    if (input != nullptr) CollectNodes(*input, rotary, nodes);
  }
  nodes.push_back(node);
}

// The turned channels in front of those that are only moved, or all channels.
struct Front {
  const Node* end;  // of the turned channels; nullptr: `concat` itself joins their halves
  const Value* moved = nullptr;
};

Front FrontOf(const Node& end) {
  if (!JoinsRows(&end) || end.inputs().size() < 2) return {&end};
  const Value& last = *end.inputs().back();
  if (!IsTaking(last.producer())) return {&end};
  return {end.inputs().size() == 2 ? end.input(0).producer() : nullptr, &last};
}

// The channels behind the turned ones, to the end of the row.
bool IsRest(const Value& moved, const Rotary& rotary) {
  const int64_t all = rotary.x->dim(rotary.x->rank() - 1);
  return ChannelsOf(moved, *rotary.x) == Channels{rotary.turned, 1, all - rotary.turned};
}

// Fills in x, the angles and which channels are turned, as if it were an embedding.
bool ReadForm(const Node& end, const Front& front, Rotary& rotary) {
  const Value& y = end.output(0);
  if (front.end == nullptr) {
    const Pairs halves = {&end.input(0), &end.input(1), false};
    return end.inputs().size() == 3 && ReadMembers(halves, y.dims(), rotary);
  }
  if (IsOp(front.end, "Add")) return ReadSum(*front.end, y.dims(), rotary);
  const std::optional<Pairs> pairs = PairsAt(front.end);
  if (!pairs.has_value() || !pairs->first->is_static() || pairs->first->rank() < 1) return false;
  Dims rows = y.dims();
  if (front.moved == nullptr) {  // a Reshape may join heads, too
    rows = pairs->first->dims();
    rows.back() *= 2;
  }
  return ReadMembers(*pairs, rows, rotary);
}

}  // namespace

bool IsReadOutside(const Node& node, absl::Span<const Node* const> nodes) {
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

std::optional<Rotary> RotaryAt(const Node& end) {
  if (!IsOp(&end, "Add") && !IsOp(&end, "Concat") && !IsOp(&end, "Reshape")) return std::nullopt;
  const Value& y = end.output(0);
  if (!y.is_static() || y.rank() < 1 || y.elements() == 0) return std::nullopt;
  Rotary rotary;
  const Front front = FrontOf(end);
  if (!ReadForm(end, front, rotary)) return std::nullopt;
  if (front.moved != nullptr ? !IsRest(*front.moved, rotary)
                             : rotary.turned != rotary.x->dim(rotary.x->rank() - 1)) {
    return std::nullopt;
  }
  const int64_t angles = rotary.cosines->rank() < 1 || !rotary.cosines->is_static()
                             ? 0
                             : rotary.cosines->dim(rotary.cosines->rank() - 1);
  const bool has_angles = (angles == rotary.turned || angles == rotary.turned / 2) &&
                          AreAngles(*rotary.cosines, *rotary.x, angles) &&
                          AreAngles(*rotary.sines, *rotary.x, angles);
  if (!has_angles || rotary.x->dtype() != y.dtype()) return std::nullopt;
  CollectNodes(y, rotary, rotary.nodes);
  std::stable_partition(rotary.nodes.begin(), rotary.nodes.end(), IsTaking);
  for (const Node* node : rotary.nodes) {
    if (node != &end && IsReadOutside(*node, rotary.nodes)) return std::nullopt;
  }
  return rotary;
}

std::vector<Rotary> RotariesOf(absl::Span<const Node* const> nodes) {
  std::vector<Rotary> found;
  for (const Node* node : nodes) {
    if (std::optional<Rotary> rotary = RotaryAt(*node)) found.push_back(*std::move(rotary));
  }
  const auto is_within = [&](const Rotary& inner) {  // the turned channels of another
    return std::any_of(found.begin(), found.end(), [&](const Rotary& whole) {
      const auto end = whole.nodes.end() - 1;
      return std::find(whole.nodes.begin(), end, inner.nodes.back()) != end;
    });
  };
  std::vector<Rotary> whole;
  std::copy_if(found.begin(), found.end(), std::back_inserter(whole), std::not_fn(is_within));
  found = std::move(whole);
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

}  // namespace onnx_cudnn
