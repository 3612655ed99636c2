#include "runtime/graph/infer_context.h"

#include <algorithm>

#include "runtime/graph/onnx_types.h"

namespace onnx_cudnn {
namespace {

// Inference functions read shapes, axes, scales and the like, which are small.
constexpr int64_t kMostDataBytes = 4096;
constexpr int64_t kMostShapeDims = 1024;

// ONNX's functions count the outputs of these ops, while our Nodes drop trailing absent ones.
size_t OutputCount(const Node& node) {
  if (node.op() == "BatchNormalization" && node.attrs().Int("training_mode", 0) != 0) return 3;
  if (node.bodies().empty()) return node.outputs().size();
  const size_t body_outputs = node.bodies().begin()->second->outputs().size();
  const size_t unseen = node.op() == "Loop" ? 1 : 0;  // the condition is not an output
  return std::max(node.outputs().size(), body_outputs - std::min(unseen, body_outputs));
}

onnx::AttributeProto Convert(const std::string& name, const Attribute& attribute) {
  const HostTensor* tensor = std::get_if<HostTensor>(&attribute);
  if (tensor == nullptr || tensor->bytes() <= kMostDataBytes) return ToProto(name, attribute);
  onnx::AttributeProto proto;
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::TENSOR);
  *proto.mutable_t() = ToProtoWithoutData(*tensor);
  return proto;
}

// `constant`, an input of `node`, in the form that the inference function expects.
HostTensor AsInferenceReadsIt(const Node& node, const HostTensor& constant) {
  // In files, the inputs of Range may be vectors of one element.
  if (node.op() == "Range" && constant.elements() == 1) return constant.Reshaped({});
  // The schema also allows i32 axes, which the function does not read.
  if (node.op() == "Pad" && constant.dtype() == DType::kI32)
    return HostTensor::Ints(*ToInts(constant));
  return constant;
}

}  // namespace

NodeContext::NodeContext(Graph& graph, Node& node, Knowledge& knowledge,
                         MakeBodyInferencer make_inferencer)
    : graph_(graph),
      node_(node),
      knowledge_(knowledge),
      make_inferencer_(make_inferencer),
      input_types_(node.inputs().size() - node.captures()),
      output_types_(OutputCount(node)) {}

const onnx::AttributeProto* NodeContext::getAttribute(const std::string& name) const {
  auto it = attributes_.find(name);
  if (it != attributes_.end()) return &it->second;
  const Attribute* attribute = node_.attrs().Find(name);
  if (attribute == nullptr) return nullptr;
  return &attributes_.emplace(name, Convert(name, *attribute)).first->second;
}

const onnx::TypeProto* NodeContext::getInputType(size_t i) const {
  const Value* value = Input(i);
  if (value == nullptr || value->type().kind == Type::Kind::kUnknown) return nullptr;
  std::unique_ptr<onnx::TypeProto>& type = input_types_[i];
  if (type == nullptr) {
    type = std::make_unique<onnx::TypeProto>(ToProto(value->type(), MadeUp::kKeep));
  }
  return type.get();
}

const onnx::TensorProto* NodeContext::getInputData(size_t i) const {
  const Value* value = Input(i);
  const HostTensor* constant = value == nullptr ? nullptr : knowledge_.Constant(*value);
  // ONNX's functions give a body the data of all inputs, which decide its shapes only by the Nodes
  // that read them.
  if (value != nullptr && constant == nullptr && node_.bodies().empty()) knowledge_.Want(*value);
  if (constant == nullptr || constant->bytes() > kMostDataBytes) return nullptr;
  auto it = input_data_.find(i);
  if (it == input_data_.end()) {
    it = input_data_.emplace(i, ToProto(AsInferenceReadsIt(node_, *constant))).first;
  }
  return &it->second;
}

const onnx::TensorShapeProto* NodeContext::getSymbolicInput(size_t i) const {
  const Value* value = Input(i);
  if (value == nullptr || knowledge_.Constant(*value) != nullptr) return nullptr;
  return knowledge_.Shape(*value);
}

onnx::GraphInferencer* NodeContext::getGraphAttributeInferencer(const std::string& name) {
  auto& bodies = graph_.MutableBodies(node_);
  auto body = bodies.find(name);
  if (body == bodies.end()) fail_type_inference("attribute \"", name, "\" is missing");
  auto& inferencer = inferencers_[name];
  if (inferencer == nullptr) {
    inferencer = make_inferencer_(*body->second, node_, knowledge_);
  }
  return inferencer.get();
}

const onnx::TensorShapeProto* PropagationContext::getInputData(size_t i) {
  if (!node_.has_input(static_cast<int>(i))) return nullptr;
  const Value& value = node_.input(static_cast<int>(i));
  if (const onnx::TensorShapeProto* shape = knowledge_.Shape(value)) return shape;
  if (value.dtype() != DType::kI64 && value.dtype() != DType::kI32) return nullptr;
  if (!value.type().ranked || value.rank() > 1) return nullptr;
  onnx::TensorShapeProto shape;
  if (const HostTensor* constant = knowledge_.Constant(value)) {
    const absl::StatusOr<std::vector<int64_t>> ints = ToInts(*constant);
    if (!ints.ok() || ints->size() > kMostShapeDims) return nullptr;
    for (int64_t dim : *ints) shape.add_dim()->set_dim_value(dim);
  } else {
    // A vector of known length has that many unknown numbers.
    if (value.rank() != 1 || value.dim(0) < 0 || value.dim(0) > kMostShapeDims) return nullptr;
    for (int64_t k = 0; k < value.dim(0); ++k) shape.add_dim();
  }
  return knowledge_.SetShape(value, std::move(shape));
}

void PropagationContext::addOutputData(size_t i, onnx::TensorShapeProto&& shape) {
  if (!node_.has_output(static_cast<int>(i))) return;
  const Value& value = node_.output(static_cast<int>(i));
  // Unsqueeze passes the elements of a vector on to a matrix, where Add takes them for a vector.
  if (value.type().ranked && value.rank() > 1) return;
  knowledge_.SetShape(value, std::move(shape));
}

}  // namespace onnx_cudnn
