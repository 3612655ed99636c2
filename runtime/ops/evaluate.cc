#include "runtime/ops/evaluate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/ops/op_table.h"
#include "runtime/ops/strings.h"

namespace onnx_cudnn {
namespace {

// Unimplemented, with the reason, unless it is Yes.
absl::Status StatusOf(const Support& support) {
  return support ? absl::OkStatus() : absl::UnimplementedError(support.reason());
}

// The Values of one evaluation. A tensor is freed after its last use.
class Evaluation {
 public:
  explicit Evaluation(const Graph& graph) {
    for (const Value* v : graph.Values()) {
      uses_left_[v] = static_cast<int>(v->uses().size()) + (v->is_graph_output() ? 1 : 0);
      if (v->is_constant()) tensors_[v] = v->constant();
    }
  }

  void Set(const Value* value, HostTensor tensor) { tensors_[value] = std::move(tensor); }
  const HostTensor& Get(const Value* value) const { return tensors_.at(value); }

  absl::Status Run(const Node& node) {
    RETURN_IF_ERROR(CheckStatic(node));
    std::vector<HostTensor> outputs;
    std::vector<MutableTensorRef> out;
    for (const Value* v : node.outputs()) {
      outputs.push_back(v == nullptr ? HostTensor() : HostTensor::Allocate(v->dtype(), v->dims()));
      out.push_back({outputs.back().dtype(), outputs.back().dims(), outputs.back().mutable_raw()});
    }
    std::vector<TensorRef> in;
    for (const Value* v : node.inputs())
      in.push_back(v == nullptr ? TensorRef{} : RefOf(tensors_.at(v)));
    const OpDef* op = FindOp(node);
    const bool has_workspace = op != nullptr && op->workspace != nullptr;
    HostTensor workspace =
        HostTensor::Allocate(DType::kU8, {has_workspace ? op->workspace(node) : 0});
    RETURN_IF_ERROR(EvaluateNode({node, in, out, workspace.mutable_raw(), ThreadPool::Default()}));
    Keep(node, std::move(outputs));
    return absl::OkStatus();
  }

 private:
  static TensorRef RefOf(const HostTensor& tensor) {
    return {tensor.dtype(), tensor.dims(), tensor.raw()};
  }

  static absl::Status CheckStatic(const Node& node) {
    for (absl::Span<Value* const> values : {node.inputs(), node.outputs()}) {
      for (const Value* v : values) {
        if (v == nullptr || v->is_static()) continue;
        return absl::UnimplementedError(
            absl::StrCat(Where(node), ": ", v->name(), " is ", ToString(v->type()),
                         ", evaluation needs a tensor with known dims"));
      }
    }
    // Before memory is allocated for unsupported types.
    return Annotate(StatusOf(CheckOp(node)), Where(node));
  }

  void Keep(const Node& node, std::vector<HostTensor> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Value* v = node.outputs()[i];
      if (v != nullptr && uses_left_[v] > 0) tensors_[v] = std::move(outputs[i]);
    }
    for (const Value* v : node.inputs()) {
      if (v != nullptr && --uses_left_[v] == 0) tensors_.erase(v);
    }
  }

  std::map<const Value*, HostTensor> tensors_;
  std::map<const Value*, int> uses_left_;
};

absl::Status CheckInputs(const Graph& graph, absl::Span<const HostTensor> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        graph.name(), ": ", inputs.size(), " inputs are given, expected ", graph.inputs().size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = *graph.inputs()[i];
    const Type given = Type::Tensor(inputs[i].dtype(), inputs[i].dims());
    if (given == v.type()) continue;
    return absl::InvalidArgumentError(absl::StrCat(graph.name(), ": input ", v.name(), " is ",
                                                   ToString(given), ", expected ",
                                                   ToString(v.type())));
  }
  return absl::OkStatus();
}

absl::StatusOr<const OpDef*> SupportedOp(const Node& node) {
  RETURN_IF_ERROR(Annotate(StatusOf(CheckOp(node)), Where(node)));
  return FindOp(node);
}

absl::StatusOr<std::vector<HostTensor>> EvaluateText(const Node& node) {
  for (const Value* v : node.inputs()) {
    if (v == nullptr || v->is_constant()) continue;
    return absl::UnimplementedError(absl::StrCat(
        "input ", v->name(), " is not known before the Run, when strings are computed"));
  }
  const OpDef* op = FindOp(node);
  if (op == nullptr) return absl::UnimplementedError("the op is not implemented");
  if (op->evaluate == nullptr) return EvaluateStrings(node);
  if (op->check != nullptr) RETURN_IF_ERROR(StatusOf(op->check(node)));
  return op->evaluate(node);
}

}  // namespace

absl::Status EvaluateNode(const ReferenceArgs& args) {
  ASSIGN_OR_RETURN(const OpDef* op, SupportedOp(args.node));
  if (op->reference == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(Where(args.node), ": the shapes of its outputs depend on data"));
  }
  return Annotate(op->reference(args), Where(args.node));
}

absl::StatusOr<std::vector<HostTensor>> EvaluateConstants(const Node& node) {
  if (TouchesStrings(node)) {
    auto results = EvaluateText(node);
    if (results.ok()) return results;
    return Annotate(results.status(), absl::StrCat(Where(node), ": ", FormOf(node)));
  }
  ASSIGN_OR_RETURN(const OpDef* op, SupportedOp(node));
  if (op->evaluate == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(Where(node), ": the shapes of its outputs do not depend on data"));
  }
  absl::StatusOr<std::vector<HostTensor>> results = op->evaluate(node);
  return results.ok() ? std::move(results) : Annotate(results.status(), Where(node));
}

absl::StatusOr<std::vector<HostTensor>> Evaluate(const Graph& graph,
                                                 absl::Span<const HostTensor> inputs) {
  RETURN_IF_ERROR(CheckInputs(graph, inputs));
  Evaluation evaluation(graph);
  for (size_t i = 0; i < inputs.size(); ++i) evaluation.Set(graph.inputs()[i], inputs[i]);
  for (const Node* node : graph.TopologicalOrder()) RETURN_IF_ERROR(evaluation.Run(*node));
  std::vector<HostTensor> outputs;
  for (const GraphOutput& output : graph.outputs()) outputs.push_back(evaluation.Get(output.value));
  return outputs;
}

}  // namespace onnx_cudnn
