// Short ways to make ONNX messages in tests.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/onnx_pb.h"
#include "runtime/graph/graph.h"

namespace onnx_cudnn {

// x f32[1,4] → Relu → y, valid.
onnx::ModelProto ReluModel();
// A header and an empty graph.
onnx::ModelProto EmptyModel(int opset = kNewestOpset);

using Names = std::vector<std::string>;

void AddTensorInfo(onnx::ValueInfoProto* info, const std::string& name, int dtype,
                   const std::vector<int64_t>& dims);
void AddInput(onnx::GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims,
              int dtype = onnx::TensorProto::FLOAT);
void AddOutput(onnx::GraphProto& graph, const std::string& name);
onnx::NodeProto& AddNode(onnx::GraphProto& graph, const std::string& op, const Names& inputs,
                         const Names& outputs);
// An initializer without elements.
onnx::TensorProto& AddInitializer(onnx::GraphProto& graph, const std::string& name, int dtype,
                                  const std::vector<int64_t>& dims);
void AddFloats(onnx::GraphProto& graph, const std::string& name,
               const std::vector<int64_t>& dims);  // zeros
void AddInts(onnx::GraphProto& graph, const std::string& name, const std::vector<int64_t>& values);

onnx::AttributeProto& AddAttribute(onnx::NodeProto& node, const std::string& name,
                                   onnx::AttributeProto::AttributeType type);
void SetInt(onnx::NodeProto& node, const std::string& name, int64_t value);
void SetInts(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values);
onnx::GraphProto& SetGraph(onnx::NodeProto& node, const std::string& name);
onnx::TensorProto& SetTensor(onnx::NodeProto& node, const std::string& name, int dtype,
                             const std::vector<int64_t>& dims);

struct Entry {
  std::string key, value;
};
// Turns `tensor` into an external one.
void SetExternal(onnx::TensorProto& tensor, const std::vector<Entry>& entries);

}  // namespace onnx_cudnn
