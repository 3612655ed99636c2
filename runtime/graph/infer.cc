#include "runtime/graph/infer.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx/defs/shape_inference.h"
#include "runtime/base/status.h"
#include "runtime/graph/correct_type.h"
#include "runtime/graph/merge_types.h"
#include "runtime/graph/onnx_schemas.h"
#include "runtime/graph/onnx_types.h"
#include "runtime/graph/print.h"
#include "runtime/graph/window_fit.h"

namespace onnx_cudnn {
namespace {

// Inference functions look into shapes, axes, scales and the like; nothing of use is larger.
constexpr int64_t kMostDataBytes = 4096;
constexpr int64_t kMostShapeDims = 1024;

// One counter for the process: a body's symbols meet those of the Graph around it.
std::string NewSymbol() {
  static std::atomic<int64_t> next = 0;
  return absl::StrCat("?", next++);
}

void NameUnknownDims(Type& type) {
  for (Dim& dim : type.dims) {
    if (dim.value < 0 && dim.symbol.empty()) dim.symbol = NewSymbol();
  }
}

// What is known of a Graph's Values beside their types, by Value id.
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
  // An inference function asked for the elements of `value`, which are not known.
  void Want(const Value& value) { wanted_.push_back(&value); }
  const std::vector<const Value*>& wanted() const { return wanted_; }
  const onnx::TensorShapeProto* SetShape(const Value& value, onnx::TensorShapeProto shape) {
    return &(shapes_[value.id()] = std::move(shape));
  }
  // What `outer` knows of `captured` holds for the body's input `inner`.
  void Capture(const Knowledge& outer, const Value& captured, const Value& inner) {
    if (const HostTensor* constant = outer.Constant(captured)) captured_[inner.id()] = *constant;
    if (const onnx::TensorShapeProto* shape = outer.Shape(captured)) SetShape(inner, *shape);
  }

 private:
  std::unordered_map<int, HostTensor> captured_;
  std::unordered_map<int, onnx::TensorShapeProto> shapes_;
  std::vector<const Value*> wanted_;
};

using Contradiction = ShapeInference::Contradiction;

absl::Status InferNode(Graph& graph, Node& node, Knowledge& knowledge, Contradiction contradiction);

absl::Status InferGraph(Graph& graph, Knowledge& knowledge, Contradiction contradiction) {
  const std::vector<Node*> order = graph.TopologicalOrder();
  if (static_cast<int>(order.size()) != graph.node_count()) {
    return absl::InternalError(absl::StrCat("graph \"", graph.name(), "\" has a cycle"));
  }
  for (Node* node : order) {
    RETURN_IF_ERROR(InferNode(graph, *node, knowledge, contradiction));
  }
  return absl::OkStatus();
}

absl::Status Refine(Graph& graph, Value& value, Type inferred) {
  NameUnknownDims(inferred);
  absl::StatusOr<Type> merged = MergeTypes(value.type(), inferred);
  if (!merged.ok()) {
    return Annotate(merged.status(), absl::StrCat("value \"", value.name(), "\""));
  }
  graph.SetType(value, *std::move(merged));
  return absl::OkStatus();
}

// A body as ONNX's functions see it: its captured inputs are filled in here.
class BodyInferencer final : public onnx::GraphInferencer {
 public:
  BodyInferencer(Graph& body, const Node& owner, const Knowledge& outer)
      : body_(body), owner_(owner), outer_(outer) {}

  std::vector<const onnx::TypeProto*> doInferencing(
      const std::vector<const onnx::TypeProto*>& input_types,
      const std::vector<const onnx::TensorProto*>&) override {
    const absl::Status status = Infer(input_types);
    if (!status.ok())
      fail_shape_inference("body \"", body_.name(), "\": ", std::string(status.message()));
    std::vector<const onnx::TypeProto*> pointers;
    for (const onnx::TypeProto& type : output_types_) pointers.push_back(&type);
    return pointers;
  }
  absl::Status Infer(const std::vector<const onnx::TypeProto*>& input_types) {
    const size_t own = body_.inputs().size() - owner_.captures();
    if (input_types.size() != own) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has ", own, " inputs, its node gives it ", input_types.size()));
    }
    for (size_t i = 0; i < own; ++i) {
      if (input_types[i] == nullptr) continue;
      ASSIGN_OR_RETURN(Type type, FromProto(*input_types[i], MadeUp::kKeep));
      RETURN_IF_ERROR(Refine(body_, *body_.inputs()[i], std::move(type)));
    }
    Knowledge inner;
    const size_t first_capture = owner_.inputs().size() - owner_.captures();
    for (int i = 0; i < owner_.captures(); ++i) {
      const Value& captured = owner_.input(static_cast<int>(first_capture) + i);
      Value& input = *body_.inputs()[own + i];
      RETURN_IF_ERROR(Refine(body_, input, captured.type()));
      inner.Capture(outer_, captured, input);
    }
    const bool is_branch = owner_.op() == "If";  // which may never be taken
    RETURN_IF_ERROR(
        InferGraph(body_, inner, is_branch ? Contradiction::kLeavesOpen : Contradiction::kFails));
    output_types_.clear();
    for (const GraphOutput& output : body_.outputs()) {
      output_types_.push_back(ToProto(output.value->type(), MadeUp::kKeep));
    }
    return absl::OkStatus();
  }

 private:
  Graph& body_;
  const Node& owner_;
  const Knowledge& outer_;
  std::vector<onnx::TypeProto> output_types_;  // ONNX reads them after doInferencing
};

// ONNX's functions count the outputs of these; ours have lost their trailing absent ones.
size_t OutputCount(const Node& node) {
  if (node.op() == "BatchNormalization" && node.attrs().Int("training_mode", 0) != 0) return 3;
  if (node.bodies().empty()) return node.outputs().size();
  const size_t body_outputs = node.bodies().begin()->second->outputs().size();
  const size_t unseen = node.op() == "Loop" ? 1 : 0;  // the condition
  return std::max(node.outputs().size(), body_outputs - std::min(unseen, body_outputs));
}

class NodeContext final : public onnx::InferenceContext {
 public:
  NodeContext(Graph& graph, Node& node, Knowledge& knowledge)
      : graph_(graph),
        node_(node),
        knowledge_(knowledge),
        input_types_(node.inputs().size() - node.captures()),
        output_types_(OutputCount(node)) {}

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    auto it = attributes_.find(name);
    if (it != attributes_.end()) return &it->second;
    const Attribute* attribute = node_.attrs().Find(name);
    if (attribute == nullptr) return nullptr;
    return &attributes_.emplace(name, Convert(name, *attribute)).first->second;
  }
  size_t getNumInputs() const override { return input_types_.size(); }
  bool hasInput(size_t i) const override { return Input(i) != nullptr; }
  const onnx::TypeProto* getInputType(size_t i) const override {
    const Value* value = Input(i);
    if (value == nullptr || value->type().kind == Type::Kind::kUnknown) return nullptr;
    std::unique_ptr<onnx::TypeProto>& type = input_types_[i];
    if (type == nullptr) {
      type = std::make_unique<onnx::TypeProto>(ToProto(value->type(), MadeUp::kKeep));
    }
    return type.get();
  }
  const onnx::TensorProto* getInputData(size_t i) const override {
    const Value* value = Input(i);
    const HostTensor* constant = value == nullptr ? nullptr : knowledge_.Constant(*value);
    if (value != nullptr && constant == nullptr) knowledge_.Want(*value);
    if (constant == nullptr || constant->bytes() > kMostDataBytes) return nullptr;
    auto it = input_data_.find(i);
    if (it == input_data_.end()) {
      it = input_data_.emplace(i, ToProto(AsInferenceReadsIt(*constant))).first;
    }
    return &it->second;
  }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t i) const override {
    const Value* value = Input(i);
    if (value == nullptr || knowledge_.Constant(*value) != nullptr) return nullptr;
    return knowledge_.Shape(*value);
  }
  size_t getNumOutputs() const override { return output_types_.size(); }
  onnx::TypeProto* getOutputType(size_t i) override { return &output_types_.at(i); }
  bool hasOutput(size_t i) override { return node_.has_output(static_cast<int>(i)); }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
    auto& bodies = graph_.MutableBodies(node_);
    auto body = bodies.find(name);
    if (body == bodies.end()) fail_type_inference("attribute \"", name, "\" is missing");
    auto& inferencer = inferencers_[name];
    if (inferencer == nullptr) {
      inferencer = std::make_unique<BodyInferencer>(*body->second, node_, knowledge_);
    }
    return inferencer.get();
  }
  std::string getDisplayName() const override { return Where(node_); }

 private:
  static onnx::AttributeProto Convert(const std::string& name, const Attribute& attribute) {
    const HostTensor* tensor = std::get_if<HostTensor>(&attribute);
    if (tensor == nullptr || tensor->bytes() <= kMostDataBytes) return ToProto(name, attribute);
    onnx::AttributeProto proto;
    proto.set_name(name);
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = ToProtoWithoutData(*tensor);
    return proto;
  }
  const Value* Input(size_t i) const {
    return i < input_types_.size() ? node_.inputs()[i] : nullptr;
  }
  HostTensor AsInferenceReadsIt(const HostTensor& constant) const {
    // Files feed Range with vectors of one element.
    if (node_.op() == "Range" && constant.elements() == 1) return constant.Reshaped({});
    // The schema allows axes of i32 too, which its function does not read.
    if (node_.op() == "Pad" && constant.dtype() == DType::kI32)
      return HostTensor::Ints(*ToInts(constant));
    return constant;
  }

  Graph& graph_;
  Node& node_;
  Knowledge& knowledge_;
  mutable std::map<std::string, onnx::AttributeProto> attributes_;
  mutable std::vector<std::unique_ptr<onnx::TypeProto>> input_types_;  // of the op's own inputs
  mutable std::map<size_t, onnx::TensorProto> input_data_;
  std::vector<onnx::TypeProto> output_types_;
  std::map<std::string, std::unique_ptr<BodyInferencer>> inferencers_;
};

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

  const onnx::TensorShapeProto* getInputData(size_t i) override {
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
      // A vector of known length is as many unknown numbers.
      if (value.rank() != 1 || value.dim(0) < 0 || value.dim(0) > kMostShapeDims) return nullptr;
      for (int64_t k = 0; k < value.dim(0); ++k) shape.add_dim();
    }
    return knowledge_.SetShape(value, std::move(shape));
  }
  void addOutputData(size_t i, onnx::TensorShapeProto&& shape) override {
    if (node_.has_output(static_cast<int>(i))) {
      knowledge_.SetShape(node_.output(static_cast<int>(i)), std::move(shape));
    }
  }

 private:
  const Node& node_;
  NodeContext& context_;
  Knowledge& knowledge_;
};

// ONNX gives these no inference function, and their output has the type of input 0.
bool OutputIsLikeInput(const Node& node) {
  if (node.domain() == kOwnDomain) return true;
  return node.domain().empty() &&
         (node.op() == "GroupNormalization" || node.op() == "MeanVarianceNormalization");
}

// ONNX's functions index inputs that the schema promises.
absl::Status CheckArity(const Node& node, const onnx::OpSchema& schema) {
  const int count = static_cast<int>(node.inputs().size()) - node.captures();
  if (count < schema.min_input() || count > schema.max_input()) {
    return absl::InvalidArgumentError(absl::StrCat("has ", count, " inputs, the op takes ",
                                                   schema.min_input(), " to ", schema.max_input()));
  }
  if (node.op() != "Loop") return absl::OkStatus();
  for (int i = 2; i < count; ++i) {  // whose types ONNX's function reads unasked
    if (!node.has_input(i) || node.input(i).type().kind == Type::Kind::kUnknown) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " has no type"));
    }
  }
  return absl::OkStatus();
}

void NameUnknownDimsOfInputs(Graph& graph, const Node& node) {
  for (Value* value : node.inputs()) {
    if (value == nullptr || value->is_constant()) continue;
    const auto& dims = value->type().dims;
    if (std::none_of(dims.begin(), dims.end(),
                     [](const Dim& d) { return d.value < 0 && d.symbol.empty(); }))
      continue;
    Type type = value->type();
    NameUnknownDims(type);
    graph.SetType(*value, std::move(type));
  }
}

// ONNX's functions compute negative extents from what allows no output. `type` is what `proto`
// became, where each is an unknown one.
absl::Status CheckExtents(const Node& node, int output, const onnx::TypeProto& proto,
                          const Type& type) {
  const auto& dims = proto.tensor_type().shape().dim();
  if (!type.is_tensor() || dims.size() != static_cast<int>(type.dims.size())) {
    return absl::OkStatus();
  }
  const auto append_type = [](std::string* out, const Value* v) {
    out->append(v == nullptr ? "nothing" : ToString(v->type()));
  };
  for (int i = 0; i < dims.size(); ++i) {
    if (type.dims[i].value >= 0 || dims[i].dim_value() >= 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("output \"", node.output(output).name(), "\" would have the extent ",
                     dims[i].dim_value(), " on axis ", i, ": ", Print(node), " of ",
                     absl::StrJoin(node.inputs(), ", ", append_type)));
  }
  return absl::OkStatus();
}

// As ONNX's function does, but for branches whose contradictions leave types open.
absl::Status InferIf(Graph& graph, Node& node, Knowledge& knowledge) {
  std::vector<const Graph*> branches;
  for (auto& [name, branch] : graph.MutableBodies(node)) {
    RETURN_IF_ERROR(Annotate(BodyInferencer(*branch, node, knowledge).Infer({}), name));
    branches.push_back(branch.get());
  }
  const size_t outputs = branches.front()->outputs().size();
  if (branches.back()->outputs().size() != outputs || outputs < node.outputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat("its branches have ", outputs, " and ",
                                                   branches.back()->outputs().size(),
                                                   " outputs, it has ", node.outputs().size()));
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.outputs()[i] == nullptr) continue;
    ASSIGN_OR_RETURN(Type type, UnionOfTypes(branches.front()->outputs()[i].value->type(),
                                             branches.back()->outputs()[i].value->type()));
    RETURN_IF_ERROR(Refine(graph, *node.outputs()[i], std::move(type)));
  }
  return absl::OkStatus();
}

absl::Status InferUnannotated(Graph& graph, Node& node, Knowledge& knowledge) {
  if (OutputIsLikeInput(node)) {
    if (!node.has_input(0) || !node.has_output(0)) return absl::OkStatus();
    return Refine(graph, node.output(0), node.input(0).type());
  }
  const onnx::OpSchema* schema = FindSchema(node.op(), node.opset(), node.domain());
  if (schema == nullptr || !schema->has_type_and_shape_inference_function())
    return absl::OkStatus();
  RETURN_IF_ERROR(CheckArity(node, *schema));
  NameUnknownDimsOfInputs(graph, node);
  if (schema->Name() == "If") return InferIf(graph, node, knowledge);
  NodeContext context(graph, node, knowledge);
  schema->GetTypeAndShapeInferenceFunction()(context);
  RETURN_IF_ERROR(CheckWindowFits(node));
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (!node.has_output(static_cast<int>(i))) continue;
    ASSIGN_OR_RETURN(Type type, FromProto(*context.getOutputType(i), MadeUp::kKeep));
    if (i == 0) {
      const auto constant = [&](const Value& value) { return knowledge.Constant(value); };
      RETURN_IF_ERROR(CorrectType(node, constant, type));
    }
    RETURN_IF_ERROR(CheckExtents(node, static_cast<int>(i), *context.getOutputType(i), type));
    RETURN_IF_ERROR(Refine(graph, node.output(static_cast<int>(i)), std::move(type)));
  }
  if (schema->has_data_propagation_function()) {
    PropagationContext propagation(node, context, knowledge);
    schema->GetDataPropagationFunction()(propagation);
  }
  return absl::OkStatus();
}

// A body is first asked about without its owner, who says the types of its inputs.
bool HasUntypedInput(const Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), [](const Value* v) {
    return v != nullptr && v->type().kind == Type::Kind::kUnknown;
  });
}

absl::Status InferOrFail(Graph& graph, Node& node, Knowledge& knowledge) {
  try {
    return Annotate(InferUnannotated(graph, node, knowledge), Where(node));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Where(node), ": no memory left to infer its types"));
  } catch (const std::exception& e) {
    if (HasUntypedInput(node)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(Where(node), ": ", e.what()));
  }
}

absl::Status InferNode(Graph& graph, Node& node, Knowledge& knowledge,
                       Contradiction contradiction) {
  const absl::Status status = InferOrFail(graph, node, knowledge);
  if (!absl::IsInvalidArgument(status) || contradiction == Contradiction::kFails) return status;
  for (Value* output : node.outputs()) {
    if (output == nullptr || output->type().kind != Type::Kind::kUnknown) continue;
    graph.SetType(*output, Type{.kind = Type::Kind::kTensor});
  }
  return absl::OkStatus();
}

}  // namespace

struct ShapeInference::State {
  Graph& graph;
  Contradiction contradiction;
  Knowledge knowledge;
};

ShapeInference::ShapeInference(Graph& graph, Contradiction contradiction)
    : state_(new State{graph, contradiction, {}}) {}
ShapeInference::~ShapeInference() = default;

absl::Status ShapeInference::Infer(Node& node) {
  return InferNode(state_->graph, node, state_->knowledge, state_->contradiction);
}

const std::vector<const Value*>& ShapeInference::wanted() const {
  return state_->knowledge.wanted();
}

absl::Status InferShapes(Graph& graph) {
  Knowledge knowledge;
  return InferGraph(graph, knowledge, Contradiction::kFails);
}

}  // namespace onnx_cudnn
