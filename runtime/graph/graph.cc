#include "runtime/graph/graph.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/graph/node_spec.h"

namespace onnx_cudnn {

Dims Value::dims() const {
  Dims dims;
  dims.reserve(type_.dims.size());
  for (const Dim& d : type_.dims) dims.push_back(d.value);
  return dims;
}

int64_t Value::elements() const {
  int64_t elements = 1;
  for (const Dim& d : type_.dims) elements *= d.value;
  return elements;
}

Graph::Graph() = default;
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

std::string Graph::UniqueName(std::string_view hint) {
  std::string name(hint);
  while (name.empty() || !names_.insert(name).second) name = absl::StrCat(hint, "_", serial_++);
  return name;
}

Value& Graph::NewValue(std::string_view name) {
  values_.push_back(std::make_unique<Value>());
  Value& value = *values_.back();
  value.id_ = static_cast<int>(values_.size()) - 1;
  value.name_ = UniqueName(name);
  return value;
}

Value& Graph::AddInput(std::string_view name, Type type) {
  Value& value = NewValue(name);
  value.type_ = std::move(type);
  value.is_input_ = true;
  inputs_.push_back(&value);
  return value;
}

Value& Graph::AddConstant(HostTensor tensor, std::string_view name) {
  Value& value = NewValue(name);
  value.type_ = Type::Tensor(tensor.dtype(), tensor.dims());
  value.constant_ = std::move(tensor);
  return value;
}

Node& Graph::AddNode(NodeSpec spec) {
  nodes_.push_back(std::make_unique<Node>());
  ++node_count_;
  Node& node = *nodes_.back();
  node.id_ = static_cast<int>(nodes_.size()) - 1;
  node.op_ = std::move(spec.op);
  node.domain_ = std::move(spec.domain);
  node.name_ = std::move(spec.name);
  node.opset_ = spec.opset;
  node.file_opset_ = spec.file_opset == 0 ? std::min(file_opset_, spec.opset) : spec.file_opset;
  node.attrs_ = std::move(spec.attrs);
  node.bodies_ = std::move(spec.bodies);
  node.captures_ = spec.captures;
  SetInputs(node, std::move(spec.inputs));
  for (const std::string& name : spec.outputs) {
    if (name.empty()) {
      node.outputs_.push_back(nullptr);
    } else {
      AddOutputValue(node, name == "*" ? absl::AsciiStrToLower(node.op_) : name);
    }
  }
  while (!node.outputs_.empty() && node.outputs_.back() == nullptr) node.outputs_.pop_back();
  return node;
}

void Graph::AddOutputValue(Node& node, std::string_view name) {
  Value& value = NewValue(name);
  value.producer_ = &node;
  value.producer_index_ = static_cast<int>(node.outputs_.size());
  node.outputs_.push_back(&value);
}

void Graph::AddOutput(std::string name, Value& value) {
  ++value.output_uses_;
  outputs_.push_back({std::move(name), &value});
}

void Graph::SetOutput(int index, Value& value) {
  Value& old = *outputs_[index].value;
  if (&old == &value) return;
  ++value.output_uses_;
  --old.output_uses_;
  outputs_[index].value = &value;
  DropIfUnusedConstant(old);
}

void Graph::SetAttr(Node& node, std::string_view name, Attribute value) {
  node.attrs_.Set(name, std::move(value));
}
void Graph::RemoveAttr(Node& node, std::string_view name) { node.attrs_.Remove(name); }

void Graph::AddUse(Node& node, int index) {
  Value* value = node.inputs_[index];
  if (value == nullptr) return;
  node.use_slots_[index] = static_cast<int>(value->uses_.size());
  value->uses_.push_back({&node, index});
}

// Constant time: the last use moves to the free slot.
void Graph::DropUse(Node& node, int index) {
  Value* value = node.inputs_[index];
  if (value == nullptr) return;
  const int slot = node.use_slots_[index];
  const Use last = value->uses_.back();
  value->uses_[slot] = last;
  last.node->use_slots_[last.index] = slot;
  value->uses_.pop_back();
}

void Graph::DropValue(Value& value) {
  names_.erase(value.name_);
  values_[value.id_].reset();
}

void Graph::DropIfUnusedConstant(Value& value) {
  if (value.is_constant() && value.uses_.empty() && value.output_uses_ == 0) DropValue(value);
}

void Graph::SetInput(Node& node, int index, Value* value) {
  Value* old = node.inputs_[index];
  if (old == value) return;
  DropUse(node, index);
  node.inputs_[index] = value;
  AddUse(node, index);
  if (old != nullptr) DropIfUnusedConstant(*old);
}

void Graph::SetInputs(Node& node, std::vector<Value*> inputs) {
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  for (size_t i = 0; i < node.inputs_.size(); ++i) DropUse(node, static_cast<int>(i));
  std::vector<Value*> old = std::exchange(node.inputs_, std::move(inputs));
  node.use_slots_.assign(node.inputs_.size(), 0);
  for (size_t i = 0; i < node.inputs_.size(); ++i) AddUse(node, static_cast<int>(i));
  std::sort(old.begin(), old.end());
  old.erase(std::unique(old.begin(), old.end()), old.end());
  for (Value* v : old) {
    if (v != nullptr) DropIfUnusedConstant(*v);
  }
}

void Graph::ReplaceAllUses(Value& from, Value& to) {
  if (&from == &to) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].value != &from) continue;
    ++to.output_uses_;
    --from.output_uses_;
    outputs_[i].value = &to;
  }
  for (const Use& use : from.uses_) {
    use.node->inputs_[use.index] = &to;
    AddUse(*use.node, use.index);
  }
  from.uses_.clear();
  DropIfUnusedConstant(from);
}

void Graph::Remove(Node& node) {
  for (Value* v : node.outputs_) {
    CHECK(v == nullptr || (v->uses_.empty() && v->output_uses_ == 0))
        << Where(node) << " still has users";
  }
  SetInputs(node, {});
  for (Value* v : node.outputs_) {
    if (v != nullptr) DropValue(*v);
  }
  --node_count_;
  nodes_[node.id_].reset();
}

void Graph::RemoveInput(int index) {
  Value& value = *inputs_[index];
  CHECK(value.uses_.empty() && value.output_uses_ == 0) << value.name_ << " still has users";
  inputs_.erase(inputs_.begin() + index);
  DropValue(value);
}

std::unique_ptr<Graph> Graph::ReleaseBody(Node& node, std::string_view name) {
  auto it = node.bodies_.find(name);
  if (it == node.bodies_.end()) return nullptr;
  std::unique_ptr<Graph> body = std::move(it->second);
  node.bodies_.erase(it);
  return body;
}

std::vector<Node*> Graph::TopologicalOrder() const {
  enum : char { kNew, kOpen, kDone };
  std::vector<char> state(nodes_.size(), kNew);
  std::vector<Node*> order;
  order.reserve(node_count_);
  std::vector<std::pair<Node*, size_t>> stack;  // a Node and the index of its next input
  for (const std::unique_ptr<Node>& root : nodes_) {
    if (root == nullptr || state[root->id_] != kNew) continue;
    state[root->id_] = kOpen;
    stack.push_back({root.get(), 0});
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == node->inputs_.size()) {
        state[node->id_] = kDone;
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      const Value* value = node->inputs_[next++];
      Node* producer = value == nullptr ? nullptr : value->producer_;
      if (producer == nullptr || state[producer->id_] == kDone) continue;
      if (state[producer->id_] == kOpen) return {};  // a cycle
      state[producer->id_] = kOpen;
      stack.push_back({producer, 0});
    }
  }
  return order;
}

std::vector<Value*> Graph::Values() const {
  std::vector<Value*> values;
  for (const std::unique_ptr<Value>& v : values_) {
    if (v != nullptr) values.push_back(v.get());
  }
  return values;
}

void CopyNodes(absl::Span<const Node* const> nodes, Graph& to, ValueCopies& values) {
  for (const Node* node : nodes) {
    NodeSpec spec = SpecLike(*node);
    for (const Value* v : node->inputs()) {
      if (v == nullptr) {
        spec.inputs.push_back(nullptr);
        continue;
      }
      auto [it, added] = values.try_emplace(v, nullptr);
      if (added) {
        CHECK(v->is_constant()) << Where(*node) << " reads " << v->name()
                                << ", which was not copied";
        it->second = &to.AddConstant(v->constant(), v->name());
      }
      spec.inputs.push_back(it->second);
    }
    for (const Value* v : node->outputs()) spec.outputs.push_back(v == nullptr ? "" : v->name());
    for (const auto& [name, body] : node->bodies())
      spec.bodies[name] = std::make_unique<Graph>(body->Clone());
    Node& copy = to.AddNode(std::move(spec));
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* v = node->outputs()[i];
      if (v == nullptr) continue;
      values[v] = &copy.output(static_cast<int>(i));
      to.SetType(copy.output(static_cast<int>(i)), v->type());
    }
  }
}

Graph Graph::Clone() const {
  Graph copy;
  copy.name_ = name_;
  copy.file_opset_ = file_opset_;
  ValueCopies values;
  values.reserve(values_.size());
  for (const Value* v : inputs_) values[v] = &copy.AddInput(v->name(), v->type());
  std::vector<Node*> order = TopologicalOrder();
  CopyNodes(std::vector<const Node*>(order.begin(), order.end()), copy, values);
  for (const GraphOutput& output : outputs_) {
    auto [it, added] = values.try_emplace(output.value, nullptr);
    if (added) it->second = &copy.AddConstant(output.value->constant(), output.value->name());
    copy.AddOutput(output.name, *it->second);
  }
  return copy;
}

namespace {

// A set of pointers, efficient for few and for many.
template <typename T>
class PointerSet {
 public:
  bool contains(const T* p) const {
    if (many_.empty()) return std::find(few_.begin(), few_.end(), p) != few_.end();
    return many_.contains(p);
  }
  // Returns whether it is new.
  bool insert(const T* p) {
    if (!many_.empty()) return many_.insert(p).second;
    if (contains(p)) return false;
    few_.push_back(p);
    if (few_.size() > kFew) many_.insert(few_.begin(), few_.end());
    return true;
  }

 private:
  static constexpr size_t kFew = 16;
  absl::InlinedVector<const T*, kFew> few_;
  absl::flat_hash_set<const T*> many_;
};

Graph CopyBetween(absl::Span<const Node* const> nodes,
                  std::initializer_list<const std::vector<const Value*>*> inputs,
                  const std::vector<const Value*>& outputs) {
  Graph graph;
  ValueCopies values;
  for (const auto* list : inputs) {
    for (const Value* v : *list) values[v] = &graph.AddInput(v->name(), v->type());
  }
  CopyNodes(nodes, graph, values);
  for (const Value* v : outputs) graph.AddOutput(v->name(), *values.at(v));
  return graph;
}

}  // namespace

Boundary BoundaryOf(absl::Span<const Node* const> nodes) {
  Boundary boundary;
  PointerSet<Node> inside;
  for (const Node* node : nodes) inside.insert(node);
  PointerSet<Value> seen;
  for (const Node* node : nodes) {
    for (const Value* v : node->inputs()) {
      if (v == nullptr || inside.contains(v->producer()) || !seen.insert(v)) continue;
      (v->is_constant() ? boundary.constants : boundary.inputs).push_back(v);
    }
    for (const Value* v : node->outputs()) {
      if (v == nullptr) continue;
      const bool leaves = std::any_of(v->uses().begin(), v->uses().end(),
                                      [&](const Use& use) { return !inside.contains(use.node); });
      if (leaves || v->is_graph_output()) boundary.outputs.push_back(v);
    }
  }
  return boundary;
}

Graph Extract(absl::Span<const Node* const> nodes) {
  const Boundary boundary = BoundaryOf(nodes);
  return CopyBetween(nodes, {&boundary.inputs, &boundary.constants}, boundary.outputs);
}

Graph ExtractWithConstants(absl::Span<const Node* const> nodes) {
  const Boundary boundary = BoundaryOf(nodes);
  return CopyBetween(nodes, {&boundary.inputs}, boundary.outputs);
}

std::string Where(const Node& node) {
  if (node.name().empty()) return absl::StrCat("node (", node.op(), ")");
  return absl::StrCat("node \"", node.name(), "\" (", node.op(), ")");
}

}  // namespace onnx_cudnn
