#include "runtime/session/segments/control_flow.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/cut_graph.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"

namespace onnx_cudnn {
namespace {

ModelValue ScalarOf(int64_t number) {
  return TensorMaker::Of(HostTensor::Of<int64_t>(DType::kI64, {}, {number}));
}

ModelValue True() { return TensorMaker::Of(HostTensor::Of<bool>(DType::kBool, {}, {true})); }

std::vector<ModelValue> Captures(const NodeOperands& operands) {
  std::vector<ModelValue> captures;
  const size_t count = operands.values.size();
  for (size_t i = count - operands.node.captures(); i < count; ++i) captures.push_back(operands[i]);
  return captures;
}

NodeResults RunIf(const SegmentPlan::Node& planned, const NodeOperands& operands,
                  const ValueMemory& memory, SubModelRunner& runner) {
  ASSIGN_OR_RETURN(const Tensor condition, operands.TensorAt(0));
  ASSIGN_OR_RETURN(const int64_t taken, NumberOf(condition, memory));
  const auto branch = planned.bodies.find(taken != 0 ? "then_branch" : "else_branch");
  if (branch == planned.bodies.end()) return absl::InvalidArgumentError("a branch is missing");
  return runner.Run(*branch->second, Captures(operands));
}

// A stack of no tensors: the dims of `element` that are known, others 0.
absl::StatusOr<Tensor> StackOfNone(const Type& element, const ValueMemory& memory) {
  if (!element.is_tensor() || element.dtype == DType::kUndefined) {
    return absl::UnimplementedError(
        "it has no iteration, and an output that iterations stack has no known type");
  }
  Dims dims = {0};
  for (const Dim& dim : element.dims) dims.push_back(std::max<int64_t>(dim.value, 0));
  return memory.Allocate(element.dtype, dims, Space::kHost);
}

// Whether more than Nodes on the host may read an input of a body.
bool ProgramsRead(const Value& input) {
  return input.is_graph_output() ||
         std::any_of(input.uses().begin(), input.uses().end(), [](const Use& use) {
           return !use.node->bodies().empty() || !RunsBetweenPrograms(*use.node);
         });
}

class LoopRun {
 public:
  LoopRun(const SegmentPlan::Node& planned, const NodeOperands& operands, const ValueMemory& memory,
          SubModelRunner& runner)
      : operands_(operands),
        memory_(memory),
        runner_(runner),
        model_(*planned.bodies.begin()->second),
        body_(*operands.node.bodies().begin()->second),
        states_count_(operands.values.size() - kOwn - operands.node.captures()) {}

  NodeResults Run() {
    int64_t most = std::numeric_limits<int64_t>::max();
    if (operands_.has(0)) {
      ASSIGN_OR_RETURN(const Tensor trips, operands_.TensorAt(0));
      ASSIGN_OR_RETURN(most, NumberOf(trips, memory_));
    }
    ModelValue condition = operands_.has(1) ? operands_[1] : True();
    for (size_t i = 0; i < states_count_; ++i) {
      if (!operands_.has(kOwn + i)) {
        return absl::InvalidArgumentError(absl::StrCat("input ", kOwn + i, " is absent"));
      }
      states_.push_back(operands_[kOwn + i]);
    }
    RETURN_IF_ERROR(TakeCaptures());
    stacks_.resize(body_.outputs().size() - 1 - states_count_);
    for (int64_t iteration = 0; iteration < most; ++iteration) {
      ASSIGN_OR_RETURN(const int64_t goes_on, NumberOf(condition.tensor(), memory_));
      if (goes_on == 0) break;
      RETURN_IF_ERROR(CheckCancelled());
      RETURN_IF_ERROR(Iterate(iteration, condition));
    }
    return Results();
  }

 private:
  static constexpr size_t kOwn = 2;  // the trip count and the condition

  // Every iteration reads them: what Programs read is copied to the device once.
  absl::Status TakeCaptures() {
    captures_ = Captures(operands_);
    for (size_t i = 0; i < captures_.size(); ++i) {
      ModelValue& capture = captures_[i];
      if (capture.kind() != ValueKind::kTensor) continue;
      if (!ProgramsRead(*body_.inputs()[kOwn + states_count_ + i])) continue;
      ASSIGN_OR_RETURN(capture, memory_.ToDevice(capture.tensor()));
    }
    return absl::OkStatus();
  }

  absl::Status Iterate(int64_t iteration, ModelValue& condition) {
    std::vector<ModelValue> inputs = {ScalarOf(iteration), condition};
    for (ModelValue& state : states_) inputs.push_back(std::move(state));
    inputs.insert(inputs.end(), captures_.begin(), captures_.end());
    absl::StatusOr<std::vector<ModelValue>> results = runner_.Run(model_, std::move(inputs));
    if (!results.ok()) {
      return Annotate(results.status(), absl::StrCat("iteration ", iteration));
    }
    condition = (*results)[0];
    for (size_t i = 0; i < states_count_; ++i) states_[i] = std::move((*results)[1 + i]);
    for (size_t i = 0; i < stacks_.size(); ++i) {
      stacks_[i].push_back((*results)[1 + states_count_ + i].tensor());
    }
    return absl::OkStatus();
  }

  NodeResults Results() {
    std::vector<ModelValue> results = std::move(states_);
    for (size_t i = 0; i < stacks_.size(); ++i) {
      const bool is_read = operands_.node.has_output(static_cast<int>(states_count_ + i));
      if (!is_read) {
        results.emplace_back(Tensor());
        continue;
      }
      const Type& element = body_.outputs()[1 + states_count_ + i].value->type();
      ASSIGN_OR_RETURN(Tensor stack, stacks_[i].empty() ? StackOfNone(element, memory_)
                                                        : memory_.Stack(stacks_[i]));
      results.emplace_back(std::move(stack));
    }
    return results;
  }

  const NodeOperands& operands_;
  const ValueMemory& memory_;
  SubModelRunner& runner_;
  const SubModel& model_;
  const Graph& body_;
  const size_t states_count_;
  std::vector<ModelValue> states_, captures_;
  std::vector<std::vector<Tensor>> stacks_;
};

// Runs the body once per element of the first sequence; other sequences supply their element at
// the same position, tensors are the same for every element.
NodeResults RunSequenceMap(const SegmentPlan::Node& planned, const NodeOperands& operands,
                           SubModelRunner& runner) {
  ASSIGN_OR_RETURN(const std::vector<ModelValue> first, operands.SequenceAt(0));
  std::vector<std::vector<ModelValue>> results(operands.node.outputs().size());
  for (size_t k = 0; k < first.size(); ++k) {
    std::vector<ModelValue> inputs;
    for (size_t i = 0; i < operands.values.size(); ++i) {
      const bool is_sequence = operands[i].kind() == ValueKind::kSequence;
      const std::vector<ModelValue>& elements = operands[i].elements();
      if (is_sequence && elements.size() != first.size()) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " has ", elements.size(),
                                                       " elements, input 0 has ", first.size()));
      }
      inputs.push_back(is_sequence ? elements[k] : operands[i]);
    }
    ASSIGN_OR_RETURN(std::vector<ModelValue> outputs,
                     runner.Run(*planned.bodies.begin()->second, std::move(inputs)));
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back(std::move(outputs[i]));
  }
  std::vector<ModelValue> sequences;
  for (std::vector<ModelValue>& elements : results) {
    sequences.push_back(ModelValue::Sequence(std::move(elements)));
  }
  return sequences;
}

}  // namespace

NodeResults RunControlFlow(const SegmentPlan::Node& planned, const NodeOperands& operands,
                           const ValueMemory& memory, SubModelRunner& runner) {
  const std::string& op = operands.node.op();
  if (op == "If") return RunIf(planned, operands, memory, runner);
  if (op == "Loop") return LoopRun(planned, operands, memory, runner).Run();
  if (op == "SequenceMap") return RunSequenceMap(planned, operands, runner);
  return absl::UnimplementedError("the op is not implemented");
}

}  // namespace onnx_cudnn
