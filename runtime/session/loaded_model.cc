#include "runtime/session/loaded_model.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/bind_partly.h"
#include "passes/partition/pins.h"
#include "runtime/base/log.h"
#include "runtime/base/printable.h"
#include "runtime/base/run_times.h"
#include "runtime/base/status.h"
#include "runtime/graph/node_refusal.h"
#include "runtime/session/arguments.h"
#include "runtime/session/check_options.h"

namespace onnx_cudnn {
namespace {

// Sets of input shapes that are known to need segments.
constexpr size_t kMostSegmented = 1024;
// After so many, all different, without one that a Program runs, all are taken to need segments.
constexpr size_t kMostTries = 4;

double MsSince(absl::Time start) { return absl::ToDoubleMilliseconds(absl::Now() - start); }

ProgressCallback CallbackOf(const SessionOptions& options) {
  if (!options.tune_progress) return options.progress;
  return [all = options.progress, tuning = options.tune_progress](const Progress& progress) {
    if (progress.stage == ProgressStage::kTuning) tuning(progress.done, progress.total);
    return !all || all(progress);
  };
}

std::vector<ValueInfo> InputsOf(const Graph& graph) {
  std::vector<ValueInfo> infos;
  for (const Value* input : graph.inputs()) {
    infos.push_back(DescribeValue(input->name(), input->type()));
  }
  return infos;
}

std::vector<ValueInfo> OutputsOf(const Graph& graph) {
  std::vector<ValueInfo> infos;
  for (const GraphOutput& output : graph.outputs()) {
    infos.push_back(DescribeValue(output.name, output.value->type()));
  }
  return infos;
}

bool AnyOfOtherKind(const std::vector<ValueInfo>& infos) {
  return std::any_of(infos.begin(), infos.end(),
                     [](const ValueInfo& info) { return info.kind != ValueKind::kTensor; });
}

}  // namespace

std::vector<ValueInfo> OutputsOf(const Program& program) { return OutputsOf(program.graph); }

LoadedModel::LoadedModel(Parts parts, const SessionOptions& options)
    : graph_(std::move(parts.graph)),
      random_(std::move(parts.random)),
      options_(options),
      progress_(CallbackOf(options)),
      inputs_(std::move(parts.inputs)),
      outputs_(std::move(parts.outputs)),
      device_(std::move(parts.device)),
      reader_(inputs_, std::move(parts.deciding_inputs), device_->transfers()),
      pools_(*device_, options_),
      builder_(graph_, inputs_, options_, std::move(parts.pins), *device_, pools_, notes_),
      programs_(options_.max_programs),
      segments_(options_, *device_, builder_, pools_, notes_,
                [this](const ProgramBuilder& builder, const ProgramKey& key, double bind_ms) {
                  return tuning_->BuildSegment(builder, key, bind_ms);
                }),
      buckets_(graph_, options_, reader_, builder_, pools_, segments_.memory(), notes_),
      is_segmented_(AnyOfOtherKind(inputs_) || AnyOfOtherKind(outputs_)) {}

absl::StatusOr<std::shared_ptr<const LoadedModel>> LoadedModel::Create(Graph graph,
                                                                       const SessionOptions& asked,
                                                                       double load_ms,
                                                                       OpenedDevice opened,
                                                                       TuneSetup tuning) {
  ASSIGN_OR_RETURN(OptimizedGraph optimized,
                   OptimizeGraph(std::move(graph), asked, opened.target.target));
  return Create(std::move(optimized), asked, load_ms, std::move(opened), std::move(tuning));
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> LoadedModel::Create(OptimizedGraph optimized,
                                                                       const SessionOptions& asked,
                                                                       double load_ms,
                                                                       OpenedDevice opened,
                                                                       TuneSetup tuning) {
  Parts parts{.graph = std::move(optimized.graph), .random = std::move(optimized.random)};
  ASSIGN_OR_RETURN(parts.pins, ParsePins(asked.pins, "pins"));
  if (!opened.note.empty()) Log(LogSeverity::kInfo, opened.note);
  const SessionOptions options = ResolveOptions(asked, !opened.device->reads_host_memory());
  const double open_ms = opened.open_ms;
  ASSIGN_OR_RETURN(parts.device, SessionDevice::Create(std::move(opened), options,
                                                       std::move(optimized.compiled)));
  parts.inputs = InputsOf(parts.graph);
  parts.outputs = OutputsOf(parts.graph);
  RETURN_IF_ERROR(CheckShapeBuckets(options, parts.inputs));
  ASSIGN_OR_RETURN(parts.deciding_inputs, DecidingInputs(parts.graph, parts.inputs));
  std::shared_ptr<LoadedModel> model(new LoadedModel(std::move(parts), options));
  model->notes_.SetLoadMs(load_ms, optimized.ms);
  model->notes_.SetDeviceMs(open_ms);
  if (!optimized.note.empty()) {  // it may quote a compiled model's file
    model->notes_.AddTuneNote(Printable(optimized.note), LogSeverity::kWarning);
  }
  ASSIGN_OR_RETURN(model->tuning_,
                   SessionTuning::Create(model->options_, *model->device_, model->builder_,
                                         model->notes_, std::move(tuning)));
  if (model->tuning_->serves_at_once()) {
    model->retuner_ = model->MakeRetuner(model->Retuned());
  }
  if (model->tuning_->is_quick() && !options.shape_buckets.empty()) {
    model->padded_retuner_ = model->MakeRetuner(model->buckets_.Retuned());
    model->buckets_.ServeAtOnce(*model->padded_retuner_);
  }
  return model;
}

RetunedPrograms LoadedModel::Retuned() const {
  return {.table = programs_,
          .shapes = [this](const ProgramKey& key) { return ShapesIn(key, inputs_); },
          .build_best =
              [this](const ProgramKey& key, const std::atomic<bool>& stop) {
                return tuning_->BuildBest(key, stop);
              }};
}

std::unique_ptr<Retuner> LoadedModel::MakeRetuner(RetunedPrograms programs) const {
  return std::make_unique<Retuner>(options_, std::move(programs), *device_, *tuning_, pools_,
                                   notes_, progress_);
}

void LoadedModel::StopTuning() const {
  for (Retuner* retuner : {retuner_.get(), padded_retuner_.get()}) {
    if (retuner != nullptr) retuner->Stop();
  }
}

absl::StatusOr<ProgramTable::Key> LoadedModel::KeyOf(const std::vector<const TensorView*>& inputs,
                                                     void* callers_stream) const {
  ProgramTable::Key key;
  for (const TensorView* input : inputs) key.dims.push_back(input->shape);
  ASSIGN_OR_RETURN(key.values, reader_.ValuesIn(inputs, callers_stream));
  return key;
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> LoadedModel::Prepare(
    const std::vector<const TensorView*>& inputs, void* callers_stream) const {
  ASSIGN_OR_RETURN(const ProgramTable::Key key, KeyOf(inputs, callers_stream));
  if (NeedsSegments(key)) return absl::UnimplementedError("it runs as several programs");
  bool wants_better = false;
  absl::StatusOr<std::shared_ptr<ExecutorPool>> pool =
      programs_.Get(key, [&] { return Build(key, wants_better); });
  if (absl::IsUnimplemented(pool.status())) NoteSegments(key);
  if (wants_better) retuner_->Add(key);
  return pool;
}

absl::StatusOr<Explanation> LoadedModel::Explain(const std::vector<const TensorView*>& inputs,
                                                 const Program& program) const {
  RETURN_IF_ERROR(device_->device().MakeCurrent());
  ASSIGN_OR_RETURN(const ProgramTable::Key key, KeyOf(inputs, /*callers_stream=*/nullptr));
  return builder_.Explain(key, program);
}

bool LoadedModel::NeedsSegments(const ProgramTable::Key& key) const {
  absl::MutexLock lock(segmented_mutex_);
  if (segmented_.contains(key)) return true;
  // It costs the time of binding shapes to find that a further set needs them too.
  return segmented_.size() >= kMostTries && programs_.built() == 0;
}

void LoadedModel::NoteSegments(const ProgramTable::Key& key) const {
  absl::MutexLock lock(segmented_mutex_);
  if (segmented_.size() == kMostSegmented) segmented_.clear();  // they are found again
  segmented_.try_emplace(key);
}

absl::StatusOr<std::vector<ValueInfo>> LoadedModel::OutputsOfParts(
    const std::vector<const TensorView*>& inputs) const {
  ASSIGN_OR_RETURN(const ProgramTable::Key key, KeyOf(inputs, /*callers_stream=*/nullptr));
  {
    absl::MutexLock lock(segmented_mutex_);
    const auto known = segmented_.find(key);
    if (known != segmented_.end() && !known->second.empty()) return known->second;
  }
  std::vector<Type> types;
  for (size_t i = 0; i < key.dims.size(); ++i) {
    types.push_back(Type::Tensor(inputs_[i].dtype, key.dims[i]));
  }
  std::vector<NodeRefusal> refusals;
  ASSIGN_OR_RETURN(const Graph bound,
                   BindPartly(graph_, types, builder_.OptionsFor(key), refusals));
  std::vector<ValueInfo> outputs = outputs_;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Type& type = bound.outputs()[i].value->type();
    if (type.is_static()) outputs[i] = DescribeValue(outputs[i].name, type);
  }
  NoteSegments(key);
  absl::MutexLock lock(segmented_mutex_);
  segmented_[key] = outputs;
  return outputs;
}

absl::StatusOr<std::shared_ptr<const SubModel>> LoadedModel::Whole() const {
  absl::MutexLock lock(whole_mutex_);
  if (whole_ == nullptr) {
    ASSIGN_OR_RETURN(whole_, SubModel::Create(graph_.Clone(), OutputReader::kCaller));
  }
  return whole_;
}

absl::StatusOr<std::vector<ModelValue>> LoadedModel::RunSegments(std::vector<ModelValue> inputs,
                                                                 const RunOptions& options,
                                                                 RunTrace* trace) const {
  RETURN_IF_ERROR(device_->device().MakeCurrent());
  if (options.stream != nullptr) {
    RETURN_IF_ERROR(device_->transfers().WaitFor(options.stream));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const SubModel> whole, Whole());
  return segments_.Run(*whole, std::move(inputs), options.cancel, trace);
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> LoadedModel::Build(const ProgramTable::Key& key,
                                                                 bool& wants_better) const {
  const PhaseTimer timer(RunPhase::kProgram);
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                   retuner_ == nullptr ? tuning_->BuildInForeground(key)
                                       : tuning_->BuildAtOnce(key, wants_better));
  ASSIGN_OR_RETURN(std::shared_ptr<ExecutorPool> pool, pools_.Make(std::move(program)));
  notes_.SetServing(pool->program());
  notes_.AddPlanMs(MsSince(start));
  return pool;
}

SessionStats LoadedModel::stats() const {
  SessionStats stats = notes_.stats();
  stats.programs_built = programs_.built() + segments_.programs_built() + buckets_.programs_built();
  stats.programs_held = programs_.held() + segments_.programs_held() + buckets_.programs_held();
  stats.padded_runs = buckets_.runs() + segments_.padded_runs();
  stats.bucket_note = buckets_.note().empty() ? segments_.note() : buckets_.note();
  stats.weight_bytes = device_->constants().bytes();
  stats.graph_captures = device_->captures();
  tuning_->AddTo(stats);
  return stats;
}

}  // namespace onnx_cudnn
