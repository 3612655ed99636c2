#include "runtime/graph/infer.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/exception.h"
#include "runtime/base/status.h"
#include "runtime/graph/conversion.h"
#include "runtime/graph/correct_type.h"
#include "runtime/graph/custom_op.h"
#include "runtime/graph/infer_context.h"
#include "runtime/graph/inverse_type.h"
#include "runtime/graph/merge_types.h"
#include "runtime/graph/ml_types.h"
#include "runtime/graph/onnx_schemas.h"
#include "runtime/graph/onnx_types.h"
#include "runtime/graph/print.h"
#include "runtime/graph/window_fit.h"

namespace onnx_cudnn {
namespace {

// One counter per process, because symbols of a body must differ from those of the surrounding
// Graph.
std::string NewSymbol() {
  static std::atomic<int64_t> next = 0;
  return absl::StrCat("?", next++);
}

void NameUnknownDims(Type& type) {
  for (Dim& dim : type.dims) {
    if (dim.value < 0 && dim.symbol.empty()) dim.symbol = NewSymbol();
  }
}

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

// Infers a body for ONNX's functions, which do not see its captured inputs.
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
    // ONNX's functions would take that for an inference that was skipped.
    if (output_types_.empty()) fail_shape_inference("body \"", body_.name(), "\" has no outputs");
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
    const bool is_branch = owner_.op() == "If";  // it may never run
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

std::unique_ptr<onnx::GraphInferencer> MakeInferencer(Graph& body, const Node& owner,
                                                      const Knowledge& outer) {
  return std::make_unique<BodyInferencer>(body, owner, outer);
}

// Ops without an inference function in ONNX whose output has the type of input 0.
bool OutputIsLikeInput(const Node& node) {
  if (IsConversion(node)) return true;
  return node.domain().empty() &&
         (node.op() == "GroupNormalization" || node.op() == "MeanVarianceNormalization");
}

// ONNX's functions access inputs by index without checking that they are present.
absl::Status CheckArity(const Node& node, const onnx::OpSchema& schema) {
  const int count = static_cast<int>(node.inputs().size()) - node.captures();
  if (count < schema.min_input() || count > schema.max_input()) {
    return absl::InvalidArgumentError(absl::StrCat("has ", count, " inputs, the op takes ",
                                                   schema.min_input(), " to ", schema.max_input()));
  }
  if (node.op() != "Loop") return absl::OkStatus();
  for (int i = 2; i < count; ++i) {  // ONNX's function reads their types without a check
    if (!node.has_input(i) || node.input(i).type().kind == Type::Kind::kUnknown) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " has no type"));
    }
  }
  return absl::OkStatus();
}

// ONNX's functions read the element type of a sequence without checking that the input is one.
absl::Status CheckSequences(const Node& node, const onnx::OpSchema& schema) {
  const size_t count = node.inputs().size() - node.captures();
  const auto is_sequence = [](const std::string* type) { return absl::StartsWith(*type, "seq("); };
  for (size_t i = 0; i < std::min(count, schema.inputs().size()); ++i) {
    const auto& types = schema.inputs()[i].GetTypes();
    if (types.empty() || !std::all_of(types.begin(), types.end(), is_sequence)) continue;
    const Value* input = node.inputs()[i];
    if (input == nullptr || input->type().kind == Type::Kind::kUnknown) continue;
    if (input->type().kind == Type::Kind::kSequence) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, ": expected a sequence, found ", ToString(input->type())));
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

// ONNX's functions compute negative extents if the inputs allow no output. `type` is `proto` with
// these replaced by unknown dims.
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

// As ONNX's function, except that a contradiction in a branch leaves its types open.
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

// What ONNX's functions leave open in the domain ai.onnx.ml.
absl::Status CompleteMlTypes(Graph& graph, Node& node) {
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    if (node.has_output(i)) RETURN_IF_ERROR(Refine(graph, node.output(i), MlOutputType(node, i)));
  }
  return absl::OkStatus();
}

absl::Status InferBySchema(Graph& graph, Node& node, Knowledge& knowledge) {
  const onnx::OpSchema* schema = FindSchema(node.op(), node.opset(), node.domain());
  if (schema == nullptr || !schema->has_type_and_shape_inference_function())
    return absl::OkStatus();
  RETURN_IF_ERROR(CheckArity(node, *schema));
  RETURN_IF_ERROR(CheckSequences(node, *schema));
  NameUnknownDimsOfInputs(graph, node);
  if (schema->Name() == "If") return InferIf(graph, node, knowledge);
  NodeContext context(graph, node, knowledge, MakeInferencer);
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

absl::Status InferUnannotated(Graph& graph, Node& node, Knowledge& knowledge) {
  if (OutputIsLikeInput(node)) {
    if (!node.has_input(0) || !node.has_output(0)) return absl::OkStatus();
    return Refine(graph, node.output(0), node.input(0).type());
  }
  if (const CustomOp* custom = FindCustomOp(node)) {
    ASSIGN_OR_RETURN(std::vector<Type> types, InferCustomOp(*custom, node));
    for (size_t i = 0; i < types.size(); ++i) {
      if (node.outputs()[i] == nullptr) continue;
      RETURN_IF_ERROR(Refine(graph, *node.outputs()[i], std::move(types[i])));
    }
    return absl::OkStatus();
  }
  if (IsInverse(node) && node.has_input(0) && node.has_output(0)) {
    ASSIGN_OR_RETURN(Type type, InverseType(node));
    return Refine(graph, node.output(0), std::move(type));
  }
  RETURN_IF_ERROR(InferBySchema(graph, node, knowledge));
  return node.domain() == kMlDomain ? CompleteMlTypes(graph, node) : absl::OkStatus();
}

// A body is first inferred without its owner, which later gives its inputs their types.
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
        absl::StrCat(Where(node), ": no memory left to infer its types", LimitOfProcess()));
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

bool IsOnnxOp(std::string_view op) { return FindSchema(op, kNewestOpset, "") != nullptr; }

absl::Status InferShapes(Graph& graph) {
  Knowledge knowledge;
  return InferGraph(graph, knowledge, Contradiction::kFails);
}

}  // namespace onnx_cudnn
