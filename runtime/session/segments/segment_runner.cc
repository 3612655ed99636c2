#include "runtime/session/segments/segment_runner.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/host_span.h"
#include "runtime/base/log.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/session/input_reader.h"
#include "runtime/session/segments/node_runner.h"
#include "runtime/session/segments/padded_segment.h"

namespace onnx_cudnn {
namespace {

// A refusal takes little memory beside a plan.
constexpr int64_t kRefusalsPerPlan = 16;

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

// One Run of a model, and of the models that it runs.
class SegmentRunner::Call final : public SubModelRunner {
 public:
  Call(const SegmentRunner& runner, const std::atomic<bool>* cancel, RunTrace* trace)
      : runner_(runner),
        cancel_(cancel),
        parts_(trace == nullptr ? nullptr : &trace->parts),
        timer_(trace == nullptr ? nullptr : trace->timer) {}

  absl::StatusOr<std::vector<ModelValue>> Run(const SubModel& model,
                                              std::vector<ModelValue> inputs) override {
    RETURN_IF_ERROR(CheckCancelled());
    ASSIGN_OR_RETURN(const std::shared_ptr<const SegmentPlan> plan, PlanFor(model, inputs));
    NotePart(plan);
    std::vector<ModelValue> slots = std::move(inputs);
    slots.resize(plan->slots, ModelValue(Tensor()));
    for (const auto& [slot, tensor] : plan->constants) slots[slot] = tensor;
    RETURN_IF_ERROR(plan->padded.has_value() ? RunPadded(*plan, slots) : RunSegment(*plan, slots));
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
      runner_.refusals_.Reserve(kRefusalsPerPlan * runner_.max_programs_ * sub_models());
    }
    ASSIGN_OR_RETURN(const SegmentKey key, KeyOf(model, inputs));
    ASSIGN_OR_RETURN(std::shared_ptr<const SegmentPlan> padded, PaddedPlan(model, key));
    if (padded != nullptr) return padded;
    std::vector<Type> types;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_tensor = inputs[i].kind() == ValueKind::kTensor;
      const Type& declared = model.graph.inputs()[i]->type();
      types.push_back(is_tensor || !declared.is_known() ? TypeOf(inputs[i]) : declared);
    }
    return runner_.plans_.Get(
        key, [&] { return Timed([&] { return runner_.planner_.Build(model, types, key); }); });
  }

  absl::StatusOr<SegmentKey> KeyOf(const SubModel& model, const std::vector<ModelValue>& inputs) {
    SegmentKey key{.sub_model = model.id};
    for (const ModelValue& input : inputs) {
      const bool is_tensor = input.kind() == ValueKind::kTensor;
      key.inputs.emplace_back(is_tensor ? input.tensor().dtype() : DType::kUndefined,
                              is_tensor ? input.tensor().shape() : Dims());
    }
    for (const int i : model.deciding) {
      const Tensor& tensor = inputs[i].tensor();
      const bool is_read = inputs[i].kind() == ValueKind::kTensor && tensor.shape().size() <= 1 &&
                           tensor.dtype() != DType::kString && tensor.bytes() <= kMostDecidingBytes;
      if (!is_read) continue;
      ASSIGN_OR_RETURN(const HostTensor read, ReadSize(tensor));
      key.values[i] = std::string(static_cast<const char*>(read.raw()), read.bytes());
    }
    return key;
  }

  template <typename Build>
  absl::StatusOr<std::shared_ptr<SegmentPlan>> Timed(Build build) const {
    const absl::Time start = absl::Now();
    ASSIGN_OR_RETURN(std::shared_ptr<SegmentPlan> plan, build());
    runner_.notes_.AddPlanMs(absl::ToDoubleMilliseconds(absl::Now() - start));
    return plan;
  }

  // The plan for the buckets of found sizes; nullptr: there are none, or it needs exact ones.
  //   exact  of the dims of this Run
  absl::StatusOr<std::shared_ptr<const SegmentPlan>> PaddedPlan(const SubModel& model,
                                                                const SegmentKey& exact) {
    if (!runner_.pads_found_ || model.found.empty()) return nullptr;
    std::vector<Dims> dims;
    for (const auto& [dtype, of_input] : exact.inputs) dims.push_back(of_input);
    const std::vector<Dims> buckets = BucketDims(model.found, dims, {.all = true, .symbols = {}});
    SegmentKey key = exact;
    key.is_padded = true;
    for (size_t i = 0; i < buckets.size(); ++i) key.inputs[i].second = buckets[i];
    if (runner_.refusals_.Find(key) != nullptr) return nullptr;
    absl::StatusOr<std::shared_ptr<SegmentPlan>> plan = runner_.plans_.Get(
        key, [&] { return Timed([&] { return runner_.planner_.BuildPadded(model, exact); }); });
    if (absl::IsCancelled(plan.status())) return plan.status();
    if (!plan.ok()) {
      RETURN_IF_ERROR(
          runner_.refusals_.Get(key, [] { return std::make_shared<bool>(true); }).status());
      runner_.NoteUnpadded(std::string(plan.status().message()));
      return nullptr;
    }
    std::vector<Dims> of_segment;
    for (const int slot : (*plan)->segment_inputs) of_segment.push_back(dims[slot]);
    const absl::StatusOr<std::vector<int64_t>> lengths = LengthsOf(*(*plan)->padded, of_segment);
    if (lengths.ok()) return *std::move(plan);
    runner_.NoteUnpadded(std::string(lengths.status().message()));
    return nullptr;
  }

  absl::Status RunBetween(const SegmentPlan::Node& node, std::vector<ModelValue>& slots) {
    const absl::Time start = absl::Now();
    const double begin_us = HostClockUs();
    ++depth_;
    absl::StatusOr<std::vector<ModelValue>> ran =
        RunNode(node, Pick(slots, node.part.inputs), runner_.memory_, *this);
    --depth_;
    ASSIGN_OR_RETURN(std::vector<ModelValue> results, std::move(ran));
    Put(std::move(results), node.part.outputs, slots);
    const double ms = absl::ToDoubleMilliseconds(absl::Now() - start);
    if (node.is_first_elements) {  // the segment has written the count to host memory
      if (node.reads_count) NoteRead(sizeof(int64_t), ms);
      return absl::OkStatus();
    }
    if (node.bodies.empty()) {
      run_.between_ms += ms;
      const Node& only = *node.part.graph.TopologicalOrder()[0];
      if (timer_ != nullptr) timer_->NoteBetween(only, begin_us, HostClockUs() - begin_us);
    }
    ++run_.nodes_between;
    return absl::OkStatus();
  }

  absl::StatusOr<HostTensor> ReadSize(const Tensor& tensor) {
    const absl::Time start = absl::Now();
    ASSIGN_OR_RETURN(HostTensor read, runner_.memory_.ToHost(tensor));
    NoteRead(read.bytes(), absl::ToDoubleMilliseconds(absl::Now() - start));
    return read;
  }

  void NoteRead(int64_t bytes, double ms) {
    ++run_.reads;
    run_.read_bytes += bytes;
    run_.reads_ms += ms;
  }

  absl::Status RunSegment(const SegmentPlan& plan, std::vector<ModelValue>& slots) {
    if (plan.pool == nullptr) return absl::OkStatus();
    std::vector<const void*> in;
    for (const int slot : plan.segment_inputs) in.push_back(slots[slot].tensor().raw());
    return RunProgram(plan, in, slots);
  }

  absl::Status RunProgram(const SegmentPlan& plan, const std::vector<const void*>& in,
                          std::vector<ModelValue>& slots) {
    const Program& program = plan.pool->program();
    std::vector<void*> out;
    for (size_t i = 0; i < plan.segment_outputs.size(); ++i) {
      const Value& value = *program.graph.outputs()[i].value;
      ASSIGN_OR_RETURN(Tensor tensor, runner_.memory_.Allocate(value.dtype(), value.dims(),
                                                               plan.output_spaces[i]));
      out.push_back(tensor.raw());
      slots[plan.segment_outputs[i]] = std::move(tensor);
    }
    run_.Add(program);
    if (timer_ != nullptr) return timer_->Run(plan.pool, in, out);
    ASSIGN_OR_RETURN(ExecutorPool::Lease executor, plan.pool->Acquire());
    return (*executor).Run(in, out, /*callers_stream=*/nullptr, cancel_);
  }

  absl::Status RunPadded(const SegmentPlan& plan, std::vector<ModelValue>& slots) {
    const PaddedGraph& padded = *plan.padded;
    const Graph& graph = plan.pool->program().graph;
    std::vector<Dims> dims;
    for (const int slot : plan.segment_inputs) dims.push_back(slots[slot].tensor().shape());
    ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, LengthsOf(padded, dims));
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < dims.size(); ++i) {
      ASSIGN_OR_RETURN(Tensor input, WithPadding(slots[plan.segment_inputs[i]].tensor(),
                                                 graph.inputs()[i]->dims(), runner_.memory_));
      inputs.push_back(std::move(input));
    }
    std::vector<const void*> in;
    for (const Tensor& input : inputs) in.push_back(input.raw());
    for (const int64_t& length : lengths) in.push_back(&length);
    RETURN_IF_ERROR(RunProgram(plan, in, slots));
    for (size_t i = 0; i < plan.segment_outputs.size(); ++i) {
      ModelValue& output = slots[plan.segment_outputs[i]];
      ASSIGN_OR_RETURN(output, WithoutPadding(output.tensor(), padded.output_extents[i], lengths,
                                              runner_.memory_));
    }
    ++runner_.padded_runs_;
    return absl::OkStatus();
  }

  const SegmentRunner& runner_;
  const std::atomic<bool>* const cancel_;
  std::vector<RunPart>* const parts_;
  RunTimer* const timer_;
  int depth_ = 0;
  SegmentedRun run_;
  std::set<int64_t> sub_models_;
};

std::string SegmentRunner::note() const {
  absl::MutexLock lock(mutex_);
  return note_;
}

void SegmentRunner::NoteUnpadded(std::string why) const {
  absl::MutexLock lock(mutex_);
  if (note_ != why) Log(LogSeverity::kInfo, "found sizes are not padded to buckets: " + why);
  note_ = std::move(why);
}

absl::StatusOr<std::vector<ModelValue>> SegmentRunner::Run(const SubModel& model,
                                                           std::vector<ModelValue> inputs,
                                                           const std::atomic<bool>* cancel,
                                                           RunTrace* trace) const {
  Call call(*this, cancel, trace);
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(std::vector<ModelValue> outputs, call.Run(model, std::move(inputs)));
  SegmentedRun run = call.run();
  run.all_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  notes_.SetRun(run);
  if (trace != nullptr) {
    trace->reads = run.reads;
    trace->read_bytes = run.read_bytes;
  }
  return outputs;
}

}  // namespace onnx_cudnn
