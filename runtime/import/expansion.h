// A node of another domain while it is replaced by Nodes of ONNX's own, for contrib_*.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {

// Keeps the first failure and appends nothing after it; until then every result is a Value of the
// Graph, and afterwards any Value. Inputs, attributes and outputs that the expansion never asks
// for are refused by Finish, so that none is ignored by mistake.
class Expansion {
 public:
  Expansion(Graph& graph, ShapeInference& inference, NodeSpec spec);

  bool ok() const { return status_.ok(); }
  void Fail(absl::Status status) { status_.Update(std::move(status)); }
  // Unimplemented and InvalidArgument, after op, opset and type.
  void Refuse(std::string_view reason);
  void FailInvalid(std::string_view reason);
  // The outputs, parallel to spec.outputs, nullptr where one is absent.
  //   errors  the first failure; Unimplemented: something that nothing asked for
  absl::StatusOr<std::vector<Value*>> Finish() &&;

  // The node.
  const NodeSpec& spec() const { return spec_; }
  int inputs() const { return static_cast<int>(spec_.inputs.size()); }
  bool Has(int i) const { return i < inputs() && spec_.inputs[i] != nullptr; }
  Value& in(int i);        // fails if it is absent
  Value* Optional(int i);  // nullptr: absent
  bool Wants(int i) const;
  bool HasAttr(std::string_view name) const { return spec_.attrs.Has(name); }
  // The attribute, or `otherwise`; fails if it is of another type.
  int64_t Int(std::string_view name, int64_t otherwise);
  bool Flag(std::string_view name, bool otherwise = false);  // fails unless it is 0 or 1
  float Float(std::string_view name, float otherwise);
  std::string String(std::string_view name, std::string_view otherwise);
  std::vector<int64_t> Ints(std::string_view name);
  std::vector<float> Floats(std::string_view name);
  int64_t RequiredInt(std::string_view name);
  // Refuses any other value of the attribute.
  void Only(std::string_view name, int64_t value);
  void Ignore(std::string_view name) { asked_.insert(std::string(name)); }
  // Moves the attributes `names` to a Node of ONNX's op.
  Attrs Take(std::initializer_list<std::string_view> names);

  // What is known of a Value; refuses the node if it is not.
  int Rank(const Value& v);
  int64_t Extent(const Value& v, int axis);  // a negative axis counts from the back
  // Whether two extents are known to be equal; of Values with ranks.
  static bool SameExtent(const Value& a, int axis_a, const Value& b, int axis_b);
  static const Dim* DimOf(const Value& v, int axis);  // nullptr: no such axis is known

  // One element as a scalar; fails if there are more.
  Value& Scalar(Value& v);

  // Constants.
  Value& Number(double number, DType dtype);  // a scalar
  Value& Integers(std::vector<int64_t> values);
  Value& Constant(HostTensor tensor) { return graph_.AddConstant(std::move(tensor)); }

  // Appends a Node, in the form of the newest opset.
  std::vector<Value*> Outputs(std::string op, std::vector<Value*> inputs, Attrs attrs, int count);
  Value& Op(std::string op, std::vector<Value*> inputs, Attrs attrs = {});
  void Append(NodeSpec spec, std::vector<Value*>& outputs);

  Value& Add(Value& a, Value& b) { return Op("Add", {&a, &b}); }
  Value& Sub(Value& a, Value& b) { return Op("Sub", {&a, &b}); }
  Value& Mul(Value& a, Value& b) { return Op("Mul", {&a, &b}); }
  Value& Div(Value& a, Value& b) { return Op("Div", {&a, &b}); }
  Value& MatMul(Value& a, Value& b) { return Op("MatMul", {&a, &b}); }
  Value& Scaled(Value& v, double factor);  // v · factor
  Value& Cast(Value& v, DType dtype);      // v itself if it has the dtype
  Value& Transpose(Value& v, std::vector<int64_t> perm);
  Value& Reshape(Value& v, std::vector<int64_t> dims);  // 0 keeps an extent
  Value& Unsqueeze(Value& v, std::vector<int64_t> axes);
  Value& Slice(Value& v, int64_t axis, int64_t begin, int64_t end, int64_t step = 1);
  Value& Concat(std::vector<Value*> values, int64_t axis);
  Value& ExtentOf(Value& v, int axis);  // i64[1]
  Value& CountTo(Value& extent);        // 0, 1, … below the i64[1] `extent`
  std::vector<Value*> Split(Value& v, int64_t axis, std::vector<int64_t> sizes);

  // Sets output `i`; Result appends the Node that computes it, and gives it the output's name.
  void Give(int i, Value& value);
  void Result(int i, std::string op, std::vector<Value*> inputs, Attrs attrs = {});
  // Appends the node itself, which has an OpDef, without attributes that nothing asked for.
  void Keep();

 private:
  const Attribute* Ask(std::string_view name);
  template <typename T>
  T Get(std::string_view name, T otherwise);
  std::string Form() const;

  Graph& graph_;
  ShapeInference& inference_;
  NodeSpec spec_;
  std::vector<Value*> given_;
  std::vector<bool> read_;                  // inputs
  absl::flat_hash_set<std::string> asked_;  // attributes
  absl::Status status_;
};

}  // namespace onnx_cudnn
