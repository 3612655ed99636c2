#include "runtime/session/buckets/bucket_runner.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/session/arguments.h"
#include "runtime/session/check_options.h"

namespace onnx_cudnn {
namespace {

// Graphs take little memory beside Programs: their constants share bytes.
constexpr int64_t kPlansPerProgram = 4;

// What tells one padded Graph from another: the extents of its inputs.
ProgramKey KeyOf(const PaddedGraph& padded, const InputValues& values) {
  ProgramKey key{.dims = {}, .values = values};
  for (size_t i = 0; i < padded.input_extents.size(); ++i) {
    key.dims.push_back(padded.graph.inputs()[i]->dims());
    for (const Affine& extent : padded.input_extents[i]) {
      Dims& numbers = key.dims.emplace_back();
      numbers.push_back(extent.constant());
      for (const auto& [length, factor] : extent.factors()) {
        numbers.insert(numbers.end(), {length, factor});
      }
    }
  }
  return key;
}

// Of the Program alone.
ProgramKey KeyOfInputs(const BucketPlan& plan) {
  ProgramKey key;
  for (const Value* input : plan.padded.graph.inputs()) key.dims.push_back(input->dims());
  return key;
}

std::vector<Dims> DimsOf(const std::vector<const TensorView*>& inputs) {
  std::vector<Dims> dims;
  for (const TensorView* input : inputs) dims.push_back(input->shape);
  return dims;
}

}  // namespace

BucketChoice PaddedInputDims(std::vector<std::string> shape_buckets) {
  const auto& names = shape_buckets;
  const bool all = std::find(names.begin(), names.end(), kAllBuckets) != names.end();
  std::erase(shape_buckets, kFoundBuckets);
  return {.all = all, .symbols = std::move(shape_buckets)};
}

Dims BucketedRun::OutputDims(int index) const {
  Dims dims;
  for (const Affine& extent : plan->padded.output_extents[index])
    dims.push_back(extent.At(lengths));
  return dims;
}

BucketRunner::BucketRunner(const Graph& graph, const SessionOptions& options,
                           const InputReader& reader, const ProgramBuilder& builder,
                           const PoolMaker& pools, const ValueMemory& memory, SessionNotes& notes)
    : graph_(graph),
      choice_(PaddedInputDims(options.shape_buckets)),
      reader_(reader),
      builder_(builder),
      pools_(pools),
      memory_(memory),
      notes_(notes),
      plans_(kPlansPerProgram * options.max_programs),
      programs_(options.max_programs),
      retuned_(options.max_programs) {}

std::string BucketRunner::note() const {
  absl::MutexLock lock(mutex_);
  return note_;
}

std::unique_ptr<BucketedRun> BucketRunner::Refuse(std::string why) const {
  absl::MutexLock lock(mutex_);
  if (note_ != why) Log(LogSeverity::kInfo, "shapes are not padded to buckets: " + why);
  note_ = std::move(why);
  return nullptr;
}

absl::StatusOr<std::shared_ptr<BucketPlan>> BucketRunner::MakePlan(const std::vector<Dims>& dims,
                                                                   const ProgramKey& key) const {
  auto plan = std::make_shared<BucketPlan>();
  const ProgramKey exact{.dims = dims, .values = key.values};
  absl::StatusOr<PaddedGraph> padded =
      PadLengths(graph_, dims, choice_, builder_.OptionsFor(exact));
  if (absl::IsCancelled(padded.status())) return padded.status();
  if (!padded.ok()) {
    plan->refusal = padded.status().message();
    return plan;
  }
  plan->padded = *std::move(padded);
  for (const Value* input : plan->padded.graph.inputs()) {
    plan->inputs.push_back(DescribeValue(input->name(), input->type()));
  }
  plan->key = KeyOf(plan->padded, key.values);
  return plan;
}

absl::StatusOr<std::shared_ptr<const Program>> BucketRunner::Build(const BucketPlan& plan,
                                                                   const Pricing& pricing) const {
  return builder_.Over(plan.padded.graph, plan.inputs).Build(KeyOfInputs(plan), pricing);
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> BucketRunner::BuildPool(
    const std::shared_ptr<BucketPlan>& plan) const {
  const bool is_quick = retuner_ != nullptr;
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, Build(*plan, {.is_quick = is_quick}));
  ASSIGN_OR_RETURN(std::shared_ptr<ExecutorPool> pool, pools_.Make(std::move(program)));
  notes_.SetServing(pool->program());
  if (is_quick) RETURN_IF_ERROR(retuned_.Get(plan->key, [&] { return plan; }).status());
  return pool;
}

RetunedPrograms BucketRunner::Retuned() const {
  return {.table = programs_,
          .shapes =
              [this](const ProgramKey& key) {
                const std::shared_ptr<BucketPlan> plan = retuned_.Find(key);
                return plan == nullptr ? "padded shapes"
                                       : ShapesIn(KeyOfInputs(*plan), plan->inputs);
              },
          .build_best = [this](const ProgramKey& key, const std::atomic<bool>&)
              -> absl::StatusOr<std::shared_ptr<const Program>> {
            const std::shared_ptr<BucketPlan> plan = retuned_.Find(key);
            if (plan == nullptr) return absl::NotFoundError("others took its place");
            return Build(*plan, /*pricing=*/{});
          }};
}

absl::StatusOr<std::unique_ptr<BucketedRun>> BucketRunner::Prepare(
    const std::vector<const TensorView*>& inputs, void* callers_stream) const {
  if (!choice_.all && choice_.symbols.empty()) return nullptr;
  const std::vector<Dims> dims = DimsOf(inputs);
  ProgramKey key{.dims = BucketDims(graph_, dims, choice_), .values = {}};
  ASSIGN_OR_RETURN(key.values, reader_.ValuesIn(inputs, callers_stream));
  const absl::Time start = absl::Now();
  auto run = std::make_unique<BucketedRun>();
  ASSIGN_OR_RETURN(run->plan, plans_.Get(key, [&] { return MakePlan(dims, key); }));
  if (!run->plan->refusal.empty()) return Refuse(run->plan->refusal);
  if (run->plan->has_no_program) return nullptr;
  absl::StatusOr<std::vector<int64_t>> lengths = LengthsOf(run->plan->padded, dims);
  if (!lengths.ok()) return Refuse(std::string(lengths.status().message()));
  run->lengths = *std::move(lengths);
  bool is_new = false;
  absl::StatusOr<std::shared_ptr<ExecutorPool>> pool = programs_.Get(run->plan->key, [&] {
    is_new = true;
    return BuildPool(run->plan);
  });
  if (is_new) notes_.AddPlanMs(absl::ToDoubleMilliseconds(absl::Now() - start));
  if (absl::IsCancelled(pool.status())) return pool.status();
  if (!pool.ok()) {
    run->plan->has_no_program = true;
    return Refuse(std::string(pool.status().message()));
  }
  if (is_new && retuner_ != nullptr) retuner_->Add(run->plan->key);
  run->pool = *std::move(pool);
  return run;
}

absl::StatusOr<std::vector<Tensor>> BucketRunner::Run(const BucketedRun& run,
                                                      const std::vector<const TensorView*>& inputs,
                                                      const std::vector<Space>& spaces,
                                                      const RunOptions& options) const {
  const Graph& graph = run.pool->program().graph;
  std::vector<const void*> in;
  std::vector<Tensor> padded, outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Dims dims = graph.inputs()[i]->dims();
    in.push_back(inputs[i]->data);
    if (dims == inputs[i]->shape) continue;
    ASSIGN_OR_RETURN(Tensor tensor,
                     memory_.Resize(Tensor::Borrow(*inputs[i]), dims, options.stream));
    in.back() = tensor.raw();
    padded.push_back(std::move(tensor));
  }
  for (const int64_t& length : run.lengths) in.push_back(&length);
  std::vector<void*> out;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value& value = *graph.outputs()[i].value;
    ASSIGN_OR_RETURN(Tensor tensor, memory_.Allocate(value.dtype(), value.dims(), spaces[i]));
    out.push_back(tensor.raw());
    outputs.push_back(std::move(tensor));
  }
  {
    ASSIGN_OR_RETURN(ExecutorPool::Lease executor, run.pool->Acquire());
    RETURN_IF_ERROR((*executor).Run(in, out, options.stream, options.cancel));
  }
  ++runs_;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Dims dims = run.OutputDims(static_cast<int>(i));
    if (outputs[i].shape() == dims) continue;
    ASSIGN_OR_RETURN(outputs[i], memory_.Resize(outputs[i], dims));
  }
  return outputs;
}

}  // namespace onnx_cudnn
