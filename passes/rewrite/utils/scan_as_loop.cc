#include "passes/rewrite/utils/scan_as_loop.h"

#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "passes/rewrite/utils/inline_body.h"
#include "runtime/base/status.h"
#include "runtime/graph/infer.h"

namespace onnx_cudnn {
namespace {

class ScanReplacement {
 public:
  ScanReplacement(Graph& graph, Node& node)
      : graph_(graph),
        inference_(graph),
        node_(node),
        body_(*node.bodies().find("body")->second),
        scans_(static_cast<int>(node.attrs().Int("num_scan_inputs", 1))),
        states_(static_cast<int>(node.inputs().size()) - node.captures() - scans_),
        stacks_(static_cast<int>(body_.outputs().size()) - states_) {}

  absl::Status Run() {
    const bool fits = scans_ >= 1 && states_ >= 0 && stacks_ >= 0 &&
                      body_.inputs().size() == node_.inputs().size() &&
                      static_cast<int>(node_.outputs().size()) <= states_ + stacks_;
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat(Where(node_), ": the body's inputs and outputs do not match the node's"));
    }
    ASSIGN_OR_RETURN(Node * loop, AddLoop());
    for (int i = 0; i < static_cast<int>(node_.outputs().size()); ++i) {
      if (!node_.has_output(i)) continue;
      Value* value = &loop->output(i);
      if (i >= states_) {
        ASSIGN_OR_RETURN(value, Arranged(*value, i - states_));
      }
      graph_.ReplaceAllUses(node_.output(i), *value);
    }
    return absl::OkStatus();
  }

 private:
  int64_t At(std::string_view attribute, int i) const {
    const std::vector<int64_t> list = node_.attrs().Ints(attribute);
    return i < static_cast<int>(list.size()) ? list[i] : 0;
  }

  absl::StatusOr<Value*> Add(NodeSpec spec) {
    Node& node = graph_.AddNode(std::move(spec));
    RETURN_IF_ERROR(Annotate(inference_.Infer(node), Where(node)));
    return &node.output(0);
  }

  Value& Ints(Graph& graph, std::vector<int64_t> ints) const {
    return graph.AddConstant(HostTensor::Ints(ints));
  }
  static Value& Scalar(Graph& graph, int64_t number) {
    return graph.AddConstant(HostTensor::Of<int64_t>(DType::kI64, {}, {number}));
  }

  // The extent of the scanned axis, a scalar.
  absl::StatusOr<Value*> Length() {
    Value& first = node_.input(states_);
    ASSIGN_OR_RETURN(Value* const shape, Add({.op = "Shape", .inputs = {&first}}));
    return Add({.op = "Gather", .inputs = {shape, &Scalar(graph_, At("scan_input_axes", 0))}});
  }

  // Inputs: iteration, condition, states; captures: the length, scanned tensors, the Scan's own.
  std::unique_ptr<Graph> LoopBody() const {
    auto body = std::make_unique<Graph>();
    body->set_name(body_.name());
    body->set_file_opset(body_.file_opset());
    Value& iteration = body->AddInput("iteration", Type::Tensor(DType::kI64, {}));
    Value& condition = body->AddInput("condition", Type::Tensor(DType::kBool, {}));
    std::vector<Value*> inputs;
    for (int i = 0; i < states_; ++i) {
      inputs.push_back(
          &body->AddInput(body_.inputs()[i]->name(), Tensor(body_.inputs()[i]->dtype())));
    }
    Value& length = body->AddInput("length", Type::Tensor(DType::kI64, {}));
    Value& last = body->AddNode({.op = "Sub", .inputs = {&length, &Scalar(*body, 1)}}).output(0);
    Value& backwards = body->AddNode({.op = "Sub", .inputs = {&last, &iteration}}).output(0);
    for (int i = 0; i < scans_; ++i) {
      Value& scanned = body->AddInput("scanned", Tensor(node_.input(states_ + i).dtype()));
      Value& index = At("scan_input_directions", i) != 0 ? backwards : iteration;
      inputs.push_back(&body->AddNode({.op = "Gather",
                                       .inputs = {&scanned, &index},
                                       .attrs = {{"axis", At("scan_input_axes", i)}}})
                            .output(0));
    }
    for (const Value* captured : node_.inputs().last(node_.captures())) {
      inputs.push_back(&body->AddInput(captured->name(), captured->type()));
    }
    const std::vector<Value*> results = CopyBody(body_, inputs, *body);
    body->AddOutput("condition", condition);
    for (size_t i = 0; i < results.size(); ++i) {
      body->AddOutput(body_.outputs()[i].name, *results[i]);
    }
    return body;
  }

  static Type Tensor(DType dtype) { return {.kind = Type::Kind::kTensor, .dtype = dtype}; }

  absl::StatusOr<Node*> AddLoop() {
    ASSIGN_OR_RETURN(Value* const length, Length());
    NodeSpec spec{.op = "Loop", .inputs = {length, nullptr}, .outputs = {}, .name = node_.name()};
    spec.inputs.insert(spec.inputs.end(), node_.inputs().begin(), node_.inputs().begin() + states_);
    spec.inputs.push_back(length);
    spec.inputs.insert(spec.inputs.end(), node_.inputs().begin() + states_, node_.inputs().end());
    spec.captures = node_.captures() + scans_ + 1;
    spec.outputs.assign(states_ + stacks_, "*");
    spec.bodies["body"] = LoopBody();
    Node& loop = graph_.AddNode(std::move(spec));
    RETURN_IF_ERROR(Annotate(inference_.Infer(loop), Where(loop)));
    return &loop;
  }

  // A stacked output of the Loop, with its axis and order as the Scan's.
  absl::StatusOr<Value*> Arranged(Value& stacked, int i) {
    Value* value = &stacked;
    if (At("scan_output_directions", i) != 0) {
      ASSIGN_OR_RETURN(value, Add({.op = "Slice",
                                   .inputs = {value, &Ints(graph_, {-1}),
                                              &Ints(graph_, {std::numeric_limits<int64_t>::min()}),
                                              &Ints(graph_, {0}), &Ints(graph_, {-1})}}));
    }
    int64_t axis = At("scan_output_axes", i);
    if (axis == 0) return value;
    const Type& type = value->type();
    if (!type.ranked) {
      return absl::UnimplementedError(
          absl::StrCat(Where(node_), ": the rank of a stacked output is not known"));
    }
    const int64_t rank = static_cast<int64_t>(type.dims.size());
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat(Where(node_), ": scan_output_axes has ", axis, ", the rank is ", rank));
    }
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.begin() + axis, 1);
    order[axis] = 0;
    std::iota(order.begin() + axis + 1, order.end(), axis + 1);
    return Add({.op = "Transpose", .inputs = {value}, .attrs = {{"perm", order}}});
  }

  Graph& graph_;
  ShapeInference inference_;
  Node& node_;
  const Graph& body_;
  const int scans_, states_, stacks_;
};

}  // namespace

absl::Status ScanAsLoop(Graph& graph, Node& node) { return ScanReplacement(graph, node).Run(); }

}  // namespace onnx_cudnn
