// The Node interface for ONNX's inference functions. Only infer.cc includes this.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/defs/shape_inference.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// Knowledge about a Graph's Values beyond their types, by Value id.
class Knowledge {
 public:
  const HostTensor* Constant(const Value& value) const {
    if (value.is_constant()) return &value.constant();
    auto it = captured_.find(value.id());
    return it == captured_.end() ? nullptr : &it->second;
  }
  const onnx::TensorShapeProto* Shape(const Value& value) const {
    auto it = shapes_.find(value.id());
    return it == shapes_.end() ? nullptr : &it->second;
  }
  // Records that an inference function needs the elements of `value`, which are unknown.
  void Want(const Value& value) { wanted_.push_back(&value); }
  const std::vector<const Value*>& wanted() const { return wanted_; }
  const onnx::TensorShapeProto* SetShape(const Value& value, onnx::TensorShapeProto shape) {
    return &(shapes_[value.id()] = std::move(shape));
  }
  // Copies the knowledge of `outer` about `captured` to the body's input `inner`.
  void Capture(const Knowledge& outer, const Value& captured, const Value& inner) {
    if (const HostTensor* constant = outer.Constant(captured)) captured_[inner.id()] = *constant;
    if (const onnx::TensorShapeProto* shape = outer.Shape(captured)) SetShape(inner, *shape);
  }

 private:
  std::unordered_map<int, HostTensor> captured_;
  std::unordered_map<int, onnx::TensorShapeProto> shapes_;
  std::vector<const Value*> wanted_;
};

// Creates the inferencer of `body`, a body of `owner`, with the knowledge around it.
using MakeBodyInferencer = std::unique_ptr<onnx::GraphInferencer> (*)(Graph& body,
                                                                      const Node& owner,
                                                                      const Knowledge& outer);

// For inference of types and shapes; the context's output types are the result.
class NodeContext final : public onnx::InferenceContext {
 public:
  NodeContext(Graph& graph, Node& node, Knowledge& knowledge, MakeBodyInferencer make_inferencer);

  const onnx::AttributeProto* getAttribute(const std::string& name) const override;
  size_t getNumInputs() const override { return input_types_.size(); }
  bool hasInput(size_t i) const override { return Input(i) != nullptr; }
  const onnx::TypeProto* getInputType(size_t i) const override;
  const onnx::TensorProto* getInputData(size_t i) const override;
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t i) const override;
  size_t getNumOutputs() const override { return output_types_.size(); }
  onnx::TypeProto* getOutputType(size_t i) override { return &output_types_.at(i); }
  bool hasOutput(size_t i) override { return node_.has_output(static_cast<int>(i)); }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override;
  std::string getDisplayName() const override { return Where(node_); }

 private:
  const Value* Input(size_t i) const {
    return i < input_types_.size() ? node_.inputs()[i] : nullptr;
  }

  Graph& graph_;
  Node& node_;
  Knowledge& knowledge_;
  const MakeBodyInferencer make_inferencer_;
  mutable std::map<std::string, onnx::AttributeProto> attributes_;
  mutable std::vector<std::unique_ptr<onnx::TypeProto>> input_types_;  // of the op's own inputs
  mutable std::map<size_t, onnx::TensorProto> input_data_;
  std::vector<onnx::TypeProto> output_types_;
  std::map<std::string, std::unique_ptr<onnx::GraphInferencer>> inferencers_;
};

// For propagation of elements that are dims, after inference with `context`.
class PropagationContext final : public onnx::DataPropagationContext {
 public:
  PropagationContext(const Node& node, NodeContext& context, Knowledge& knowledge)
      : node_(node), context_(context), knowledge_(knowledge) {}

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    return context_.getAttribute(name);
  }
  size_t getNumInputs() const override { return context_.getNumInputs(); }
  const onnx::TypeProto* getInputType(size_t i) const override { return context_.getInputType(i); }
  size_t getNumOutputs() const override { return context_.getNumOutputs(); }
  const onnx::TypeProto* getOutputType(size_t i) const override {
    return context_.getOutputType(i);
  }
  const onnx::TensorShapeProto* getInputData(size_t i) override;
  void addOutputData(size_t i, onnx::TensorShapeProto&& shape) override;

 private:
  const Node& node_;
  NodeContext& context_;
  Knowledge& knowledge_;
};

}  // namespace onnx_cudnn
