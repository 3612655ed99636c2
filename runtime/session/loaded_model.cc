#include "runtime/session/loaded_model.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "passes/pass_manager.h"
#include "passes/pipelines.h"
#include "runtime/base/status.h"
#include "runtime/graph/deciding_inputs.h"
#include "runtime/import/expand_function.h"
#include "runtime/ops/op_table.h"
#include "runtime/session/arguments.h"
#include "runtime/session/shared_arena.h"

namespace onnx_cudnn {
namespace {

// Inputs whose values decide shapes are small; a larger one is only read when a Program runs.
constexpr int64_t kMostValueBytes = 4096;
// Of all strings of an input: each set of them has a Program of its own, which holds them. Each
// counts a byte more than it has.
constexpr int64_t kMostStringBytes = int64_t{1} << 20;
// On a GPU, unless asked: a network's branches seldom are more than two.
constexpr int kGpuStreams = 2;
// Of tuning in the background, unless asked.
constexpr double kBackgroundSeconds = 60;
// Of the time of the Program that serves: what gains less is noise.
constexpr double kWorthASwap = 0.99;
constexpr char kNoBudget[] =
    "its time is spent, or no worker program serves: further input shapes are not tuned";

double MsSince(absl::Time start) { return absl::ToDoubleMilliseconds(absl::Now() - start); }

absl::Status CheckOptions(const SessionOptions& options) {
  struct Rule {
    const char* name;
    int value, least, most;
  };
  const Rule rules[] = {
      {"device", static_cast<int>(options.device), 0, static_cast<int>(DeviceChoice::kCuda)},
      {"precision", static_cast<int>(options.precision), 0,
       static_cast<int>(PrecisionChoice::kBf16)},
      {"partitioner", static_cast<int>(options.partitioner), 0,
       static_cast<int>(PartitionerChoice::kCost)},
      {"tune", static_cast<int>(options.tune), 0, static_cast<int>(TuneMode::kBackground)},
      {"optimization_level", options.optimization_level, 0, 2},
      {"streams", options.streams, 0, 64},
      {"max_programs", options.max_programs, 1, 1 << 20},
      {"max_executors_per_program", options.max_executors_per_program, 1, 1024}};
  for (const Rule& rule : rules) {
    if (rule.value >= rule.least && rule.value <= rule.most) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "option %s: expected %d to %d, found %d", rule.name, rule.least, rule.most, rule.value));
  }
  if (!(options.tune_budget_s >= 0)) {  // NaN too
    return absl::InvalidArgumentError(absl::StrFormat(
        "option tune_budget_s: expected 0 or more, found %g", options.tune_budget_s));
  }
  if (options.max_memory_bytes >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "option max_memory_bytes: expected 0 or more, found %d", options.max_memory_bytes));
}

// Who writes or, of an input, first reads `value`.
const Node* OpAt(const Value& value) {
  if (value.producer() != nullptr) return value.producer();
  return value.uses().empty() ? nullptr : value.uses()[0].node;
}

absl::Status CheckRunnable(std::string_view what, std::string_view name, const Value& value) {
  const Type& type = value.type();
  const bool is_whole = BitsOf(type.dtype) > 0 || type.dtype == DType::kString;
  if (type.is_tensor() && is_whole) return absl::OkStatus();
  const Node* op = OpAt(value);
  return absl::UnimplementedError(absl::StrFormat("%s \"%s\": %sexpected a tensor, found %s", what,
                                                  name, op == nullptr ? "" : FormOf(*op) + ": ",
                                                  ToString(type)));
}

absl::Status CheckBorder(const Graph& graph) {
  for (const Value* input : graph.inputs()) {
    RETURN_IF_ERROR(CheckRunnable("input", input->name(), *input));
  }
  for (const auto& [name, value] : graph.outputs()) {
    if (value->type().kind == Type::Kind::kUnknown) continue;  // shows when a Program is built
    RETURN_IF_ERROR(CheckRunnable("output", name, *value));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> StringsIn(const TensorView& view) {
  const absl::Span<const std::string> strings(static_cast<const std::string*>(view.data),
                                              ElementsOf(view.shape));
  int64_t bytes = static_cast<int64_t>(strings.size());
  for (const std::string& s : strings) bytes += static_cast<int64_t>(s.size());
  if (bytes <= kMostStringBytes) return std::vector<std::string>(strings.begin(), strings.end());
  return absl::UnimplementedError(
      absl::StrFormat("expected strings of at most %d bytes, found %d", kMostStringBytes, bytes));
}

// Of a Program while it is timed: weights, arenas, inputs and outputs.
int64_t TimedBytes(const Program& program) {
  return program.weight_bytes + program.memory.arena_bytes + program.host_memory.arena_bytes +
         StagingBytes(program.graph);
}

// "x[1,3,224,224], mask[1,224]"
std::string ShapesIn(const ProgramTable::Key& key, const std::vector<ValueInfo>& inputs) {
  std::vector<std::string> shapes;
  for (size_t i = 0; i < key.dims.size(); ++i) {
    shapes.push_back(absl::StrCat(inputs[i].name, ToString(absl::MakeConstSpan(key.dims[i]))));
  }
  return absl::StrJoin(shapes, ", ");
}

}  // namespace

DType ProductType(PrecisionChoice precision) {
  if (precision == PrecisionChoice::kFp16) return DType::kF16;
  return precision == PrecisionChoice::kBf16 ? DType::kBF16 : DType::kF32;
}

std::vector<ValueInfo> OutputsOf(const Program& program) {
  std::vector<ValueInfo> infos;
  for (const GraphOutput& output : program.graph.outputs()) {
    infos.push_back(DescribeValue(output.name, output.value->type()));
  }
  return infos;
}

LoadedModel::LoadedModel(Graph graph, const SessionOptions& options)
    : graph_(std::move(graph)), options_(options), programs_(options.max_programs) {}

absl::StatusOr<std::shared_ptr<const LoadedModel>> LoadedModel::Create(
    Graph graph, const SessionOptions& options, double load_ms, TuneSetup tuning) {
  RETURN_IF_ERROR(CheckOptions(options));
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(OpenedDevice opened, OpenDevice(options.device, options.target));
  const double device_ms = MsSince(start);
  ASSIGN_OR_RETURN(
      auto model, Create(std::move(graph), options, load_ms, std::move(opened), std::move(tuning)));
  absl::MutexLock lock(model->stats_mutex_);
  model->stats_.device_ms = device_ms;
  return model;
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> LoadedModel::Create(
    Graph graph, const SessionOptions& options, double load_ms, OpenedDevice opened,
    TuneSetup tuning) {
  RETURN_IF_ERROR(CheckOptions(options));
  auto model = std::shared_ptr<LoadedModel>(new LoadedModel(std::move(graph), options));
  RETURN_IF_ERROR(CheckBorder(model->graph_));
  model->TakeDevice(std::move(opened));
  if (options.arena != nullptr) {
    ASSIGN_OR_RETURN(model->turns_,
                     options.arena->impl_->Turns(model->device_, model->device_ref()));
  }
  RETURN_IF_ERROR(model->MakeTuner(std::move(tuning)));
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(model->Optimize());
  RETURN_IF_ERROR(model->Describe());
  model->StartTuning();
  absl::MutexLock lock(model->stats_mutex_);
  model->stats_.load_ms = load_ms;
  model->stats_.optimize_ms = MsSince(start);
  return model;
}

void LoadedModel::TakeDevice(OpenedDevice opened) {
  device_ = std::move(opened.device);
  target_ = std::move(opened.target);
  device_note_ = std::move(opened.note);
  const bool on_gpu = device_ref().kind == DeviceKind::kCuda;
  if (options_.streams == 0) options_.streams = on_gpu ? kGpuStreams : 1;
  if (options_.precision == PrecisionChoice::kAuto) {
    options_.precision = on_gpu ? PrecisionChoice::kTf32 : PrecisionChoice::kStrict;
  }
  if (!on_gpu) options_.cuda_graph = false;
  if (options_.max_memory_bytes > 0) target_.target.max_bytes = options_.max_memory_bytes;
  target_.target.numerics.tf32 = options_.precision == PrecisionChoice::kTf32;
  target_.target.numerics.nondeterminism = options_.allow_nondeterministic;
  constants_ = std::make_unique<ConstantStore>(*device_);
  transfers_ = std::make_unique<Transfers>(*device_);
}

absl::Status LoadedModel::MakeTuner(TuneSetup tuning) {
  const bool in_background = options_.tune == TuneMode::kBackground;
  if (in_background && options_.tune_budget_s == 0) options_.tune_budget_s = kBackgroundSeconds;
  const bool asked = options_.tune_budget_s > 0 || !options_.plan_cache.empty();
  if (!asked || device_ref().kind != DeviceKind::kCuda) return absl::OkStatus();
  ASSIGN_OR_RETURN(plan_cache_, PlanCache::Open(options_.plan_cache));
  const bool has_source = !tuning.source.path.empty() || !tuning.source.bytes.empty();
  if ((has_source || in_background) && options_.tune_budget_s > 0) {
    auto worker = has_source ? WorkerTuning::Create(tuning.source, options_)
                             : absl::NotFoundError("no model for a worker program");
    if (worker.ok()) {
      worker_tuning_ = *std::move(worker);
    } else {
      NoteTuning(absl::StrCat(
          worker.status().message(),
          in_background ? ": nothing is tuned in the background" : ": measured in this process"));
    }
  }
  if (in_background && worker_tuning_ != nullptr) return absl::OkStatus();
  const bool measures = worker_tuning_ == nullptr && !in_background;
  if (!tuning.observer.progress) tuning.observer.progress = options_.tune_progress;
  tuner_ = std::make_unique<Tuner>(target_.target, *device_, *plan_cache_,
                                   TunerOptions{.budget_s = measures ? options_.tune_budget_s : 0,
                                                .one_at_a_time = tuning.one_at_a_time,
                                                .observer = std::move(tuning.observer)});
  return absl::OkStatus();
}

void LoadedModel::StartTuning() {
  if (options_.tune != TuneMode::kBackground || worker_tuning_ == nullptr) return;
  background_ = std::make_unique<BackgroundTuning>(
      [this](const ProgramTable::Key& key, const std::atomic<bool>& stop) { Tune(key, stop); },
      [this] { worker_tuning_->Stop(); }, options_.max_programs);
}

void LoadedModel::StopTuning() const {
  if (background_ != nullptr) background_->Stop();
}

DeviceRef LoadedModel::device_ref() const {
  if (device_->reads_host_memory()) return {};
  return {.kind = DeviceKind::kCuda, .ordinal = 0};
}

DeviceFacts LoadedModel::device_facts() const {
  const PlatformVersions platform = device_->versions();
  DeviceFacts facts{.product = device_->info().name,
                    .driver = platform.driver,
                    .cuda = platform.cuda,
                    .cudnn = ""};
  if (facts.cuda.empty()) return facts;
  for (const auto& engine : target_.engines) {
    if (engine->name() == "cudnn") facts.cudnn = engine->version();
  }
  return facts;
}

absl::Status LoadedModel::Optimize() {
  PassContext context{.target = &target_.target};
  PassManagerOptions manager;
  manager.disabled.insert(options_.disabled_passes.begin(), options_.disabled_passes.end());
  const auto passes = MakePipeline(options_.optimization_level, ProductType(options_.precision));
  return RunPasses(graph_, passes, manager, context).status();
}

absl::Status LoadedModel::Describe() {
  RETURN_IF_ERROR(CheckBorder(graph_));  // the passes know more types
  for (const Value* input : graph_.inputs()) {
    inputs_.push_back(DescribeValue(input->name(), input->type()));
  }
  for (const GraphOutput& output : graph_.outputs()) {
    outputs_.push_back(DescribeValue(output.name, output.value->type()));
  }
  return FindInputsThatDecideShapes();
}

absl::Status LoadedModel::FindInputsThatDecideShapes() {
  const auto is_short = [](const ValueInfo& info) {
    return info.dtype != DType::kString && info.ranked && info.dims.size() <= 1;
  };
  if (std::none_of(inputs_.begin(), inputs_.end(), is_short)) return absl::OkStatus();
  ASSIGN_OR_RETURN(inputs_that_decide_shapes_, InputsThatDecideShapes(graph_));
  std::erase_if(inputs_that_decide_shapes_, [&](int i) { return !is_short(inputs_[i]); });
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> LoadedModel::Prepare(
    const std::vector<const TensorView*>& inputs, void* callers_stream) const {
  ProgramTable::Key key;
  for (const TensorView* input : inputs) key.dims.push_back(input->shape);
  ASSIGN_OR_RETURN(key.values, ValuesIn(inputs, callers_stream));
  bool wants_tuning = false;
  ASSIGN_OR_RETURN(std::shared_ptr<ExecutorPool> pool,
                   programs_.Get(key, [&] { return Build(key, wants_tuning); }));
  if (wants_tuning) TuneLater(key);
  return pool;
}

absl::StatusOr<std::string> LoadedModel::BytesIn(const TensorView& view,
                                                 void* callers_stream) const {
  const int64_t bytes = BytesOf(view.dtype, ElementsOf(view.shape));
  if (view.device == DeviceRef{}) return std::string(static_cast<const char*>(view.data), bytes);
  std::string copy(bytes, '\0');
  RETURN_IF_ERROR(transfers_->ToHost(view.data, copy.data(), bytes, callers_stream));
  return copy;
}

absl::StatusOr<InputValues> LoadedModel::ValuesIn(const std::vector<const TensorView*>& inputs,
                                                  void* callers_stream) const {
  InputValues values;
  for (const int i : inputs_that_decide_shapes_) {
    const TensorView& input = *inputs[i];
    const int64_t bytes = BytesOf(input.dtype, ElementsOf(input.shape));
    if (bytes > kMostValueBytes || (bytes > 0 && input.data == nullptr)) continue;
    ASSIGN_OR_RETURN(values.bytes[i], BytesIn(input, callers_stream));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->dtype != DType::kString) continue;
    RETURN_IF_ERROR(CheckPointer(*inputs[i], "input", i));
    absl::StatusOr<std::vector<std::string>> strings = StringsIn(*inputs[i]);
    if (!strings.ok()) {
      return Annotate(strings.status(), absl::StrFormat("input \"%s\"", inputs_[i].name));
    }
    values.strings.emplace(i, *std::move(strings));
  }
  return values;
}

std::map<std::string, HostTensor, std::less<>> LoadedModel::TensorsOf(
    const ProgramTable::Key& key) const {
  std::map<std::string, HostTensor, std::less<>> tensors;
  for (const auto& [i, bytes] : key.values.bytes) {
    HostTensor tensor = HostTensor::Allocate(inputs_[i].dtype, key.dims[i]);
    std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
    tensors[inputs_[i].name] = std::move(tensor);
  }
  for (const auto& [i, strings] : key.values.strings) {
    tensors[inputs_[i].name] = HostTensor::Strings(key.dims[i], strings);
  }
  return tensors;
}

std::map<std::string, Dims, std::less<>> LoadedModel::DimsOf(const ProgramTable::Key& key) const {
  std::map<std::string, Dims, std::less<>> dims;
  for (size_t i = 0; i < key.dims.size(); ++i) dims[inputs_[i].name] = key.dims[i];
  return dims;
}

BuildOptions LoadedModel::BuildOptionsOf(const ProgramTable::Key& key) const {
  return {.input_values = TensorsOf(key),
          .functions = &kOnnxFunctions,
          .disabled_passes = {options_.disabled_passes.begin(), options_.disabled_passes.end()}};
}

absl::StatusOr<std::shared_ptr<const Program>> LoadedModel::BuildWith(
    const ProgramTable::Key& key, int streams, const SearchStrategy& way,
    const Pricing& pricing) const {
  std::optional<WorkerPricer> worker_pricer;
  if (pricing.measure) worker_pricer.emplace(*pricing.tuner, pricing.measure);
  Pricer* pricer = pricing.tuner;
  if (worker_pricer.has_value()) pricer = &*worker_pricer;
  std::optional<WeightedPricer> weighted;
  if (way.library_factor != 1 && pricer != nullptr) {
    pricer = &weighted.emplace(*pricer, way.library_factor);
  }
  BuildOptions options = BuildOptionsOf(key);
  options.partitioner = way.partitioner;
  options.streams = streams;
  options.pricer = pricer;
  return BuildProgram(graph_, DimsOf(key), target_.target, options);
}

absl::StatusOr<std::shared_ptr<const Program>> LoadedModel::BuildKnown(
    const ProgramTable::Key& key, const std::string& network, const Pricing& pricing) const {
  const std::optional<PlanEntry> known = plan_cache_->Find(target_.target.info.name, network);
  if (!known.has_value()) return nullptr;
  for (const SearchStrategy& way : SearchStrategies()) {
    if (way.name == known->variant) return BuildWith(key, options_.streams, way, pricing);
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const Program>> LoadedModel::BuildFastest(
    const ProgramTable::Key& key, const Pricing& pricing) const {
  const SearchStrategy& first = SearchStrategies().front();
  if (pricing.tuner == nullptr) return BuildWith(key, options_.streams, first, pricing);
  ASSIGN_OR_RETURN(const Graph bound,
                   BindShapes(graph_, DimsOf(key), BuildOptionsOf(key), &target_.target));
  const std::string network = NetworkSignature(bound, target_.target, options_.streams);
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, BuildKnown(key, network, pricing));
  if (program != nullptr) return program;
  ASSIGN_OR_RETURN(program, BuildWith(key, options_.streams, first, pricing));
  if (pricing.benchmarks_networks)
    return BenchmarkStrategies(key, std::move(program), network, pricing);
  if (!pricing.measure) return program;
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> fastest, BuildKnown(key, network, pricing));
  return fastest == nullptr ? program : fastest;
}

absl::StatusOr<std::shared_ptr<const Program>> LoadedModel::BenchmarkStrategies(
    const ProgramTable::Key& key, std::shared_ptr<const Program> first, const std::string& network,
    const Pricing& pricing) const {
  std::vector<const SearchStrategy*> ways;
  std::vector<std::shared_ptr<const Program>> programs;
  // What one way measures may change what another one takes.
  for (int measured = -1; measured < pricing.tuner->stats().signatures; first = nullptr) {
    measured = pricing.tuner->stats().signatures;
    ways.clear(), programs.clear();
    for (const SearchStrategy& way : SearchStrategies()) {
      std::shared_ptr<const Program> program = ways.empty() ? first : nullptr;
      if (program == nullptr) {
        ASSIGN_OR_RETURN(program, BuildWith(key, options_.streams, way, pricing));
      }
      const auto is_same = [&](const auto& other) {
        return SameCandidates(*program, *other, target_.target);
      };
      if (std::any_of(programs.begin(), programs.end(), is_same)) continue;
      ways.push_back(&way);
      programs.push_back(std::move(program));
    }
  }
  const absl::StatusOr<std::vector<double>> ms =
      TimeNetworks(programs, *device_, options_.cuda_graph);
  if (absl::IsFailedPrecondition(ms.status())) return ms.status();  // the device is lost
  if (!ms.ok()) {
    NoteTuning(absl::StrCat("whole networks were not timed: ", ms.status().message()));
    return programs[0];
  }
  const size_t best = std::min_element(ms->begin(), ms->end()) - ms->begin();
  const PlatformVersions platform = device_->versions();
  plan_cache_->Put({.device = target_.target.info.name,
                    .signature = network,
                    .engine = "network",
                    .variant = std::string(ways[best]->name),
                    .us = 1e3 * (*ms)[best],
                    .workspace_bytes = programs[best]->memory.arena_bytes,
                    .checked = true,
                    .engine_version = "",
                    .driver = platform.driver,
                    .cuda = platform.cuda,
                    .date = Today(),
                    .saved = ""});
  return programs[best];
}

// Where the Device reads callers' memory nothing is staged.
int64_t LoadedModel::ExecutorBytes(const Program& program) const {
  const int64_t staging = device_->reads_host_memory() ? 0 : StagingBytes(program.graph);
  const int64_t arena = turns_ == nullptr ? program.memory.arena_bytes : 0;
  return arena + program.host_memory.arena_bytes + staging;
}

int64_t LoadedModel::PoolBytes(const Program& program, int executors) const {
  return program.weight_bytes + executors * ExecutorBytes(program);
}

absl::StatusOr<std::shared_ptr<const Program>> LoadedModel::BuildWithin(
    const ProgramTable::Key& key, const Pricing& pricing) const {
  const bool is_cost = options_.partitioner == PartitionerChoice::kCost;
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                   is_cost ? BuildFastest(key, pricing)
                           : BuildWith(key, options_.streams, SearchStrategies().back(), pricing));
  const int64_t bytes = program->weight_bytes + ExecutorBytes(*program);
  if (bytes <= target_.target.max_bytes || program->schedule.streams == 1) return program;
  const SearchStrategy& way = is_cost ? SearchStrategies().front() : SearchStrategies().back();
  return BuildWith(key, /*streams=*/1, way, pricing);
}

absl::StatusOr<std::shared_ptr<const Program>> LoadedModel::BuildInForeground(
    const ProgramTable::Key& key) const {
  Pricing pricing{.tuner = tuner_.get()};
  if (worker_tuning_ != nullptr) {
    pricing.measure = [&](absl::Span<const Candidate* const> candidates) {
      worker_tuning_->Measure(key, candidates, *plan_cache_, *tuner_);
      return absl::OkStatus();
    };
  } else {
    pricing.benchmarks_networks =
        options_.tune_budget_s > 0 && options_.tune == TuneMode::kForeground;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, BuildWithin(key, pricing));
  if (plan_cache_ != nullptr) RETURN_IF_ERROR(plan_cache_->Save());
  return program;
}

// A Tuner of its own: callers of one wait for each other, and it goes on choosing what it compiled
// before something better was known.
absl::StatusOr<std::shared_ptr<const Program>> LoadedModel::BuildAtOnce(
    const ProgramTable::Key& key, bool& wants_tuning) const {
  Tuner tuner(target_.target, *device_, *plan_cache_, {});
  const Pricing pricing{.tuner = &tuner, .measure = [&](absl::Span<const Candidate* const>) {
                          wants_tuning = true;
                          return absl::OkStatus();
                        }};
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, BuildWithin(key, pricing));
  absl::MutexLock lock(stats_mutex_);
  stats_.cached_signatures += tuner.stats().hits;
  return program;
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> LoadedModel::PoolOf(
    std::shared_ptr<const Program> program, int64_t most_bytes) const {
  const int64_t bytes = ExecutorBytes(*program);
  if (program->weight_bytes + bytes > most_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("weights, arena and copies of inputs and outputs take %d bytes, the limit "
                        "is %d",
                        program->weight_bytes + bytes, most_bytes));
  }
  const int64_t fitting = bytes == 0 ? most_bytes : (most_bytes - program->weight_bytes) / bytes;
  for (const GraphOutput& output : program->graph.outputs()) {
    RETURN_IF_ERROR(CheckRunnable("output", output.name, *output.value));
  }
  const auto executors =
      static_cast<int>(std::min<int64_t>(options_.max_executors_per_program, fitting));
  return std::make_shared<ExecutorPool>(std::move(program), *device_, *constants_, executors,
                                        options_.cuda_graph, turns_);
}

void LoadedModel::NoteServing(const Program& program) const {
  absl::MutexLock lock(stats_mutex_);
  stats_.arena_bytes = program.memory.arena_bytes + program.host_memory.arena_bytes;
  stats_.nodes = stats_.host_nodes = 0;
  for (const Partition& partition : program.partitions) {
    const auto nodes = static_cast<int64_t>(partition.chosen.nodes.size());
    stats_.nodes += nodes;
    if (partition.chosen.engine->name() == "host") stats_.host_nodes += nodes;
  }
}

absl::StatusOr<std::shared_ptr<ExecutorPool>> LoadedModel::Build(const ProgramTable::Key& key,
                                                                 bool& wants_tuning) const {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, background_ == nullptr
                                                               ? BuildInForeground(key)
                                                               : BuildAtOnce(key, wants_tuning));
  ASSIGN_OR_RETURN(std::shared_ptr<ExecutorPool> pool,
                   PoolOf(std::move(program), target_.target.max_bytes));
  NoteServing(pool->program());
  absl::MutexLock lock(stats_mutex_);
  stats_.plan_ms += MsSince(start);
  return pool;
}

void LoadedModel::TuneLater(const ProgramTable::Key& key) const {
  if (!worker_tuning_->has_budget()) {
    NoteTuning(absl::StrCat("background tuning: ", kNoBudget));
  } else if (!background_->Add(key)) {
    NoteTuning(absl::StrCat("background tuning: ", options_.max_programs,
                            " sets of input shapes wait for it, others are not tuned"));
  }
}

void LoadedModel::Tune(const ProgramTable::Key& key, const std::atomic<bool>& stop) const {
  absl::StatusOr<std::string> what;
  try {
    what = Retune(key, stop);
  } catch (const std::exception& e) {  // the thread's edge
    what = absl::InternalError(absl::StrCat("unexpected exception: ", e.what()));
  }
  if (stop || (what.ok() && what->empty())) return;
  NoteTuning(absl::StrCat("background tuning of ", ShapesIn(key, inputs_), ": ",
                          what.ok() ? *what : what.status().message()));
}

absl::StatusOr<std::shared_ptr<const Program>> LoadedModel::BuildTuned(
    const ProgramTable::Key& key, const std::atomic<bool>& stop) const {
  Tuner tuner(target_.target, *device_, *plan_cache_, {});
  const Pricing pricing{
      .tuner = &tuner,
      .measure = [&](absl::Span<const Candidate* const> candidates) -> absl::Status {
        worker_tuning_->Measure(key, candidates, *plan_cache_, tuner);
        return stop ? absl::CancelledError("the Session is closed") : absl::OkStatus();
      }};
  absl::StatusOr<std::shared_ptr<const Program>> program = BuildWithin(key, pricing);
  // What was measured is kept, whatever became of the Program.
  if (const absl::Status saved = plan_cache_->Save(); !saved.ok()) {
    NoteTuning(absl::StrCat("background tuning: ", saved.message()));
  }
  return program;
}

absl::Status LoadedModel::CheckFitsBeside(const ExecutorPool& serving, const Program& tuned) const {
  if (turns_ != nullptr && tuned.memory.arena_bytes > turns_->bytes) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("the tuned program's arena takes %d bytes, the shared one has %d",
                        tuned.memory.arena_bytes, turns_->bytes));
  }
  const Program& first = serving.program();
  const int executors = serving.max_executors();
  const int64_t bytes =
      PoolBytes(first, executors) +
      std::max(PoolBytes(tuned, executors), TimedBytes(first) + TimedBytes(tuned));
  if (bytes <= target_.target.max_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("the tuned program is not tried: beside the one that serves it takes %d "
                      "bytes in all, the limit is %d",
                      bytes, target_.target.max_bytes));
}

absl::StatusOr<std::string> LoadedModel::Retune(const ProgramTable::Key& key,
                                                const std::atomic<bool>& stop) const {
  const std::shared_ptr<ExecutorPool> serving = programs_.Find(key);
  if (serving == nullptr) return "";
  if (!worker_tuning_->has_budget()) return absl::ResourceExhaustedError(kNoBudget);
  const Program& first = serving->program();
  ASSIGN_OR_RETURN(const std::shared_ptr<const Program> tuned, BuildTuned(key, stop));
  if (SameCandidates(first, *tuned, target_.target) && SameVariants(first, *tuned)) {
    return "the tuned program is the one that serves";
  }
  RETURN_IF_ERROR(CheckFitsBeside(*serving, *tuned));
  ASSIGN_OR_RETURN(
      const std::vector<double> ms,
      TimeNetworks({{serving->shared_program(), tuned}}, *device_, options_.cuda_graph, &stop));
  const std::string times =
      absl::StrFormat("a run of the tuned program takes %.1f us, of the one before %.1f us",
                      1e3 * ms[1], 1e3 * ms[0]);
  if (ms[1] > kWorthASwap * ms[0]) return absl::StrCat(times, ": that one stays");
  const int64_t first_bytes = PoolBytes(first, serving->max_executors());
  ASSIGN_OR_RETURN(const std::shared_ptr<ExecutorPool> pool,
                   PoolOf(tuned, target_.target.max_bytes - first_bytes));
  // No Run waits for memory, or lacks it.
  RETURN_IF_ERROR(pool->MakeReady(std::max(serving->made(), 1)));
  if (stop || !programs_.Replace(key, serving, pool)) return "";
  NoteServing(*tuned);
  absl::MutexLock lock(stats_mutex_);
  ++stats_.programs_swapped;
  return absl::StrCat(times, ": it serves from now on, results may differ in the last bits");
}

void LoadedModel::NoteTuning(std::string note) const {
  absl::MutexLock lock(stats_mutex_);
  std::vector<std::string>& notes = stats_.tune_notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

SessionStats LoadedModel::stats() const {
  absl::MutexLock lock(stats_mutex_);
  SessionStats stats = stats_;
  stats.programs_built = programs_.built();
  stats.programs_held = programs_.held();
  stats.weight_bytes = constants_->bytes();
  const TunerStats tuned = tuner_stats();
  const WorkerReport worker = worker_tuning_ == nullptr ? WorkerReport() : worker_tuning_->report();
  stats.tune_ms = 1e3 * (tuned.seconds + worker.seconds);
  stats.tuned_signatures = tuned.signatures + worker.signatures;
  // What a worker measured is found in the plan cache then.
  stats.cached_signatures += std::max<int64_t>(tuned.hits - worker.signatures, 0);
  for (const auto* notes : {&worker.notes, &tuned.notes}) {
    stats.tune_notes.insert(stats.tune_notes.end(), notes->begin(), notes->end());
  }
  return stats;
}

TunerStats LoadedModel::tuner_stats() const {
  return tuner_ == nullptr ? TunerStats() : tuner_->stats();
}

}  // namespace onnx_cudnn
