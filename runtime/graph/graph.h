// The dataflow graph. A Graph owns its Nodes and Values. Pointers to them are borrowed and stay
// valid until Graph removes the object; objects change only through Graph's edits, which keep uses
// and producers consistent. Moving a Graph keeps every address.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "runtime/graph/attrs.h"
#include "runtime/graph/host_tensor.h"
#include "runtime/graph/types.h"

namespace onnx_cudnn {

class Graph;
class Node;

// The memory that holds the bytes.
enum class Space : uint8_t { kDevice, kHost };

// The opset of the default domain that every Node has after import.
inline constexpr int kNewestOpset = 28;
// The domain of our own ops Reformat and Transfer, both logically identities. No file may contain
// them.
inline constexpr std::string_view kOwnDomain = "onnx_cudnn";

struct Use {
  Node* node;
  int index;  // the position among the node's inputs
};

// An edge: a graph input, a constant, or a Node's output.
class Value {
 public:
  int id() const { return id_; }  // unique within its Graph, never reused
  const std::string& name() const { return name_; }
  const Type& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  int rank() const { return static_cast<int>(type_.dims.size()); }  // of a tensor of known rank
  int64_t dim(int i) const { return type_.dims[i].value; }          // < 0: not a number
  Dims dims() const;                                                // of a static tensor
  bool is_static() const { return type_.is_static(); }
  int64_t elements() const;  // of a static tensor
  int64_t bytes() const { return BytesOf(dtype(), elements()); }

  Node* producer() const { return producer_; }  // nullptr: an input or a constant
  int producer_index() const { return producer_index_; }
  const std::vector<Use>& uses() const { return uses_; }
  bool is_graph_input() const { return is_input_; }
  bool is_graph_output() const { return output_uses_ > 0; }
  bool has_one_use() const { return uses_.size() + output_uses_ == 1; }
  // The Node that alone reads the Value; nullptr: there is none, or it is a graph output too.
  Node* only_reader() const { return has_one_use() && !uses_.empty() ? uses_[0].node : nullptr; }
  bool is_constant() const { return constant_.has_value(); }
  const HostTensor& constant() const { return *constant_; }

 private:
  friend class Graph;
  int id_ = 0;
  std::string name_;
  Type type_;
  Node* producer_ = nullptr;
  int producer_index_ = 0;
  std::vector<Use> uses_;
  int output_uses_ = 0;
  bool is_input_ = false;
  std::optional<HostTensor> constant_;
};

// An operation. Absent optional inputs and outputs are nullptr; trailing ones are removed.
class Node {
 public:
  int id() const { return id_; }
  const std::string& op() const { return op_; }
  const std::string& domain() const { return domain_; }  // "" is ONNX's own domain
  const std::string& name() const { return name_; }
  int opset() const { return opset_; }            // of its domain
  int file_opset() const { return file_opset_; }  // for messages: that of the file it came from
  absl::Span<Value* const> inputs() const { return inputs_; }
  absl::Span<Value* const> outputs() const { return outputs_; }
  bool has_input(int i) const {
    return i < static_cast<int>(inputs_.size()) && inputs_[i] != nullptr;
  }
  bool has_output(int i) const {
    return i < static_cast<int>(outputs_.size()) && outputs_[i] != nullptr;
  }
  Value& input(int i) const { return *inputs_[i]; }
  Value& output(int i) const { return *outputs_[i]; }
  const Attrs& attrs() const { return attrs_; }
  // Graph attributes by name (then_branch, body, …). Each body is closed: the Values that it
  // captures from the outer Graph are its last inputs, fed by this Node's last `captures()` inputs
  // in the same order. All bodies of a Node have the same captures.
  const std::map<std::string, std::unique_ptr<Graph>, std::less<>>& bodies() const {
    return bodies_;
  }
  int captures() const { return captures_; }

 private:
  friend class Graph;
  int id_ = 0;
  std::string op_, domain_, name_;
  int opset_ = kNewestOpset, file_opset_ = kNewestOpset;
  std::vector<Value*> inputs_, outputs_;
  std::vector<int> use_slots_;  // input i is inputs_[i]->uses_[use_slots_[i]]
  Attrs attrs_;
  std::map<std::string, std::unique_ptr<Graph>, std::less<>> bodies_;
  int captures_ = 0;
};

// The data of a new Node.
struct NodeSpec {
  std::string op;
  std::vector<Value*> inputs;
  Attrs attrs = {};
  std::vector<std::string> outputs = {
      "*"};  // names; "" is an absent output, "*" a name made up from the op
  std::string domain = "";
  std::string name = "";
  int opset = kNewestOpset;
  std::map<std::string, std::unique_ptr<Graph>, std::less<>> bodies = {};
  int captures = 0;
  int file_opset = 0;  // 0: the Graph's, at most `opset`
};

struct GraphOutput {
  std::string name;
  Value* value;
};

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  // The opset of the default domain in the model that it was loaded from; Nodes are newer.
  int file_opset() const { return file_opset_; }
  void set_file_opset(int opset) { file_opset_ = opset; }

  absl::Span<Value* const> inputs() const { return inputs_; }
  absl::Span<const GraphOutput> outputs() const { return outputs_; }
  int node_count() const { return node_count_; }
  // Nodes by id. Every id is below node_ids(), which grows with each AddNode; nullptr: removed.
  int node_ids() const { return static_cast<int>(nodes_.size()); }
  Node* node(int id) const { return nodes_[id].get(); }

  // Empty names and names in use get a serial number.
  Value& AddInput(std::string_view name, Type type);
  Value& AddConstant(HostTensor tensor, std::string_view name = "c");
  Node& AddNode(NodeSpec spec);  // output types are unknown until inferred or set
  void AddOutput(std::string name, Value& value);

  void SetType(Value& value, Type type) { value.type_ = std::move(type); }
  void SetAttr(Node& node, std::string_view name, Attribute value);
  void RemoveAttr(Node& node, std::string_view name);
  void SetInput(Node& node, int index, Value* value);
  void SetInputs(Node& node, std::vector<Value*> inputs);
  void AddOutputValue(Node& node, std::string_view name);  // appends one output
  void SetOutput(int index, Value& value);                 // graph output `index` keeps its name
  void ReplaceAllUses(Value& from, Value& to);             // including graph outputs
  void Remove(Node& node);                                 // no output of it may have a use
  void RemoveInput(int index);                             // of the graph; it must not have a use
  std::map<std::string, std::unique_ptr<Graph>, std::less<>>& MutableBodies(Node& node) {
    return node.bodies_;
  }
  std::unique_ptr<Graph> ReleaseBody(Node& node, std::string_view name);
  Node& Mutable(const Node& node) { return *nodes_[node.id()]; }
  Value& Mutable(const Value& value) { return *values_[value.id()]; }

  // Every Node, producers first; keeps the current order if it is already topological. Empty if
  // there is a cycle.
  std::vector<Node*> TopologicalOrder() const;
  // Every Value in order of creation: inputs, constants and outputs of Nodes.
  std::vector<Value*> Values() const;

  Graph Clone() const;  // ids and names are new, order and names of inputs and outputs the same;
                        // constants share bytes
  std::string UniqueName(std::string_view hint);

 private:
  Value& NewValue(std::string_view name);
  void AddUse(Node& node, int index);
  void DropUse(Node& node, int index);
  void DropIfUnusedConstant(Value& value);
  void DropValue(Value& value);

  std::string name_;
  std::vector<std::unique_ptr<Node>> nodes_;    // by id; nullptr: removed
  std::vector<std::unique_ptr<Value>> values_;  // by id; nullptr: removed
  std::vector<Value*> inputs_;
  std::vector<GraphOutput> outputs_;
  int node_count_ = 0;
  int file_opset_ = kNewestOpset;
  absl::flat_hash_set<std::string> names_;
  int64_t serial_ = 0;
};

// The Values that cross the border of `nodes`, without duplicates, in order of first use.
struct Boundary {
  std::vector<const Value*> inputs;  // excluding constants
  std::vector<const Value*> constants;
  std::vector<const Value*> outputs;  // used outside, or graph outputs
};
Boundary BoundaryOf(absl::Span<const Node* const> nodes);

// A closed Graph of copies of `nodes` (in topological order): its inputs are the inputs of the
// boundary and then its constants, its outputs the outputs of the boundary; types are kept.
Graph Extract(absl::Span<const Node* const> nodes);
// The same with copies of the constants.
Graph ExtractWithConstants(absl::Span<const Node* const> nodes);

// Maps Values of one Graph to the corresponding Values of another.
using ValueCopies = absl::flat_hash_map<const Value*, Value*>;

// Copies `nodes` into `to`; `values` maps the Values that they read and receives those that they
// write. Constants are added to `to` at their first use.
void CopyNodes(absl::Span<const Node* const> nodes, Graph& to, ValueCopies& values);

// node "conv1" (Conv), or (Conv) for an empty name: the start of a message.
std::string Where(const Node& node);

}  // namespace onnx_cudnn
