#include "runtime/session/segments/segment_runner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/session/input_reader.h"
#include "runtime/session/segments/node_runner.h"

namespace onnx_cudnn {
namespace {

std::vector<ModelValue> Pick(std::vector<ModelValue>& slots, const std::vector<int>& indices) {
  std::vector<ModelValue> values;
  for (const int i : indices) values.push_back(slots[i]);
  return values;
}

void Put(std::vector<ModelValue> values, const std::vector<int>& indices,
         std::vector<ModelValue>& slots) {
  for (size_t i = 0; i < indices.size(); ++i) slots[indices[i]] = std::move(values[i]);
}

}  // namespace

// One Run of a model, with all that it runs in turn.
class SegmentRunner::Call final : public SubModelRunner {
 public:
  Call(const SegmentRunner& runner, const std::atomic<bool>* cancel, std::vector<RunPart>* parts)
      : runner_(runner), cancel_(cancel), parts_(parts) {}

  absl::StatusOr<std::vector<ModelValue>> Run(const SubModel& model,
                                              std::vector<ModelValue> inputs) override {
    RETURN_IF_ERROR(CheckCancelled());
    ASSIGN_OR_RETURN(const std::shared_ptr<const SegmentPlan> plan, PlanFor(model, inputs));
    NotePart(plan);
    std::vector<ModelValue> slots = std::move(inputs);
    slots.resize(plan->slots, ModelValue(Tensor()));
    for (const auto& [slot, tensor] : plan->constants) slots[slot] = tensor;
    RETURN_IF_ERROR(RunSegment(*plan, slots));
    for (const SegmentPlan::Node& node : plan->nodes) {
      RETURN_IF_ERROR(RunBetween(node, slots));
    }
    if (plan->rest != nullptr) {
      ASSIGN_OR_RETURN(std::vector<ModelValue> results,
                       Run(*plan->rest, Pick(slots, plan->rest_inputs)));
      Put(std::move(results), plan->rest_outputs, slots);
    }
    return Pick(slots, plan->outputs);
  }

  const SegmentedRun& run() const { return run_; }
  int64_t sub_models() const { return static_cast<int64_t>(sub_models_.size()); }

 private:
  void NotePart(const std::shared_ptr<const SegmentPlan>& plan) {
    if (parts_ == nullptr) return;
    const auto is_it = [&](const RunPart& part) { return part.plan == plan; };
    auto part = std::find_if(parts_->begin(), parts_->end(), is_it);
    if (part == parts_->end()) {
      part = parts_->insert(part, {.plan = plan, .depth = depth_});
    }
    ++part->runs;
  }

  absl::StatusOr<std::shared_ptr<const SegmentPlan>> PlanFor(
      const SubModel& model, const std::vector<ModelValue>& inputs) {
    // Capacity for every SubModel that one Run needs.
    if (sub_models_.insert(model.id).second) {
      runner_.plans_.Reserve(runner_.max_programs_ * sub_models());
    }
    SegmentKey key{.sub_model = model.id};
    std::vector<Type> types;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_tensor = inputs[i].kind() == ValueKind::kTensor;
      const Tensor& tensor = inputs[i].tensor();
      const Type& declared = model.graph.inputs()[i]->type();
      key.inputs.emplace_back(is_tensor ? tensor.dtype() : DType::kUndefined,
                              is_tensor ? tensor.shape() : Dims());
      types.push_back(is_tensor || !declared.is_known() ? TypeOf(inputs[i]) : declared);
    }
    for (const int i : model.deciding) {
      const Tensor& tensor = inputs[i].tensor();
      const bool is_read = inputs[i].kind() == ValueKind::kTensor && tensor.shape().size() <= 1 &&
                           tensor.dtype() != DType::kString && tensor.bytes() <= kMostDecidingBytes;
      if (!is_read) continue;
      ASSIGN_OR_RETURN(const HostTensor read, ReadSize(tensor));
      key.values[i] = std::string(static_cast<const char*>(read.raw()), read.bytes());
    }
    return runner_.plans_.Get(key, [&]() -> absl::StatusOr<std::shared_ptr<SegmentPlan>> {
      const absl::Time start = absl::Now();
      ASSIGN_OR_RETURN(std::shared_ptr<SegmentPlan> plan,
                       runner_.planner_.Build(model, types, key));
      runner_.notes_.AddPlanMs(absl::ToDoubleMilliseconds(absl::Now() - start));
      return plan;
    });
  }

  absl::Status RunBetween(const SegmentPlan::Node& node, std::vector<ModelValue>& slots) {
    const absl::Time start = absl::Now();
    ++depth_;
    absl::StatusOr<std::vector<ModelValue>> ran =
        RunNode(node, Pick(slots, node.part.inputs), runner_.memory_, *this);
    --depth_;
    ASSIGN_OR_RETURN(std::vector<ModelValue> results, std::move(ran));
    Put(std::move(results), node.part.outputs, slots);
    const double ms = absl::ToDoubleMilliseconds(absl::Now() - start);
    if (node.is_first_elements) {  // the segment has written the count to host memory
      run_.reads_ms += ms;
      ++run_.reads;
      return absl::OkStatus();
    }
    if (node.bodies.empty()) run_.between_ms += ms;
    ++run_.nodes_between;
    return absl::OkStatus();
  }

  absl::StatusOr<HostTensor> ReadSize(const Tensor& tensor) {
    const absl::Time start = absl::Now();
    ASSIGN_OR_RETURN(HostTensor read, runner_.memory_.ToHost(tensor));
    run_.reads_ms += absl::ToDoubleMilliseconds(absl::Now() - start);
    ++run_.reads;
    return read;
  }

  absl::Status RunSegment(const SegmentPlan& plan, std::vector<ModelValue>& slots) {
    if (plan.pool == nullptr) return absl::OkStatus();
    const Program& program = plan.pool->program();
    std::vector<const void*> in;
    for (const int slot : plan.segment_inputs) in.push_back(slots[slot].tensor().raw());
    std::vector<void*> out;
    for (size_t i = 0; i < plan.segment_outputs.size(); ++i) {
      const Value& value = *program.graph.outputs()[i].value;
      ASSIGN_OR_RETURN(Tensor tensor, runner_.memory_.Allocate(value.dtype(), value.dims(),
                                                               plan.output_spaces[i]));
      out.push_back(tensor.raw());
      slots[plan.segment_outputs[i]] = std::move(tensor);
    }
    ASSIGN_OR_RETURN(ExecutorPool::Lease executor, plan.pool->Acquire());
    run_.Add(program);
    return (*executor).Run(in, out, /*callers_stream=*/nullptr, cancel_);
  }

  const SegmentRunner& runner_;
  const std::atomic<bool>* const cancel_;
  std::vector<RunPart>* const parts_;
  int depth_ = 0;
  SegmentedRun run_;
  std::set<int64_t> sub_models_;
};

absl::StatusOr<std::vector<ModelValue>> SegmentRunner::Run(const SubModel& model,
                                                           std::vector<ModelValue> inputs,
                                                           const std::atomic<bool>* cancel,
                                                           std::vector<RunPart>* parts) const {
  Call call(*this, cancel, parts);
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(std::vector<ModelValue> outputs, call.Run(model, std::move(inputs)));
  SegmentedRun run = call.run();
  run.all_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  notes_.SetRun(run);
  return outputs;
}

}  // namespace onnx_cudnn
