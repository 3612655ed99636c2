#include "tests/support/model_builder.h"

#include "absl/strings/str_cat.h"

namespace onnx_cudnn {

onnx::ModelProto EmptyModel(int opset) {
  onnx::ModelProto model;
  model.set_ir_version(onnx::IR_VERSION);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("g");
  return model;
}

onnx::ModelProto ReluModel() {
  onnx::ModelProto model = EmptyModel();
  AddInput(*model.mutable_graph(), "x", {1, 4});
  AddNode(*model.mutable_graph(), "Relu", {"x"}, {"y"});
  AddOutput(*model.mutable_graph(), "y");
  return model;
}

void AddTensorInfo(onnx::ValueInfoProto* info, const std::string& name, int dtype,
                   const std::vector<int64_t>& dims) {
  info->set_name(name);
  onnx::TypeProto::Tensor* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(dtype);
  tensor->mutable_shape();
  for (int64_t d : dims) tensor->mutable_shape()->add_dim()->set_dim_value(d);
}

void AddInput(onnx::GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims,
              int dtype) {
  AddTensorInfo(graph.add_input(), name, dtype, dims);
}

void AddOutput(onnx::GraphProto& graph, const std::string& name) {
  graph.add_output()->set_name(name);
}

onnx::NodeProto& AddNode(onnx::GraphProto& graph, const std::string& op, const Names& inputs,
                         const Names& outputs) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(absl::StrCat("n", graph.node_size()));
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  return node;
}

onnx::TensorProto& AddInitializer(onnx::GraphProto& graph, const std::string& name, int dtype,
                                  const std::vector<int64_t>& dims) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(dtype);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  return tensor;
}

void AddFloats(onnx::GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims) {
  AddInitializer(graph, name, onnx::TensorProto::FLOAT, dims)
      .set_raw_data(std::string(4 * ElementsOf(dims), '\0'));
}

void AddInts(onnx::GraphProto& graph, const std::string& name, const std::vector<int64_t>& values) {
  AddInitializer(graph, name, onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())})
      .mutable_int64_data()
      ->Add(values.begin(), values.end());
}

onnx::AttributeProto& AddAttribute(onnx::NodeProto& node, const std::string& name,
                                   onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

void SetInt(onnx::NodeProto& node, const std::string& name, int64_t value) {
  AddAttribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void SetInts(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  AddAttribute(node, name, onnx::AttributeProto::INTS)
      .mutable_ints()
      ->Add(values.begin(), values.end());
}

onnx::GraphProto& SetGraph(onnx::NodeProto& node, const std::string& name) {
  onnx::GraphProto& graph = *AddAttribute(node, name, onnx::AttributeProto::GRAPH).mutable_g();
  graph.set_name(name);
  return graph;
}

onnx::TensorProto& SetTensor(onnx::NodeProto& node, const std::string& name, int dtype,
                             const std::vector<int64_t>& dims) {
  onnx::TensorProto& tensor = *AddAttribute(node, name, onnx::AttributeProto::TENSOR).mutable_t();
  tensor.set_data_type(dtype);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  return tensor;
}

void SetExternal(onnx::TensorProto& tensor, const std::vector<Entry>& entries) {
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const Entry& entry : entries) {
    onnx::StringStringEntryProto& proto = *tensor.add_external_data();
    proto.set_key(entry.key);
    proto.set_value(entry.value);
  }
}

}  // namespace onnx_cudnn
