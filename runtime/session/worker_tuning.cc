#include "runtime/session/worker_tuning.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/session/loaded_model.h"

namespace onnx_cudnn {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kProgram[] = "onnx-cudnn-tune-worker";
constexpr int kMostCalls = 3;  // of workers, for one Program
constexpr int64_t kMostJobBytes = int64_t{1} << 28;

// The worker beside the running program; empty: nobody knows where that is.
std::string DefaultProgram() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : (self.parent_path() / kProgram).string();
}

absl::StatusOr<std::string> MakeFolder() {
  std::error_code error;
  const std::filesystem::path temp = std::filesystem::temp_directory_path(error);
  std::string path = (temp / "onnx-cudnn-tune.XXXXXX").string();
  if (mkdtemp(path.data()) != nullptr) return path;
  return absl::NotFoundError(absl::StrCat(path, ": no folder: ", std::strerror(errno)));
}

// What a Program is planned by. `bytes` are hexadecimal.
Json JobOf(const std::string& model, const SessionOptions& o, const ProgramTable::Key& key) {
  Json inputs = Json::array();
  for (const Dims& dims : key.dims) inputs.push_back({{"dims", dims}});
  for (const auto& [i, bytes] : key.values.bytes) {
    inputs[i]["bytes"] = absl::BytesToHexString(bytes);
  }
  for (const auto& [i, strings] : key.values.strings) {
    Json list = Json::array();
    for (const std::string& s : strings) list.push_back(absl::BytesToHexString(s));
    inputs[i]["strings"] = std::move(list);
  }
  return {{"model", model},
          {"optimization_level", o.optimization_level},
          {"precision", static_cast<int>(o.precision)},
          {"allow_nondeterministic", o.allow_nondeterministic},
          {"disabled_passes", o.disabled_passes},
          {"partitioner", static_cast<int>(o.partitioner)},
          {"map_external_data", o.map_external_data},
          {"follow_hub_links", o.follow_hub_links},
          {"streams", o.streams},
          {"max_memory_bytes", o.max_memory_bytes},
          {"inputs", std::move(inputs)}};
}

struct Job {
  std::string model;
  SessionOptions options;
  ProgramTable::Key key;
};

// Empty for what is not hexadecimal: the model then says what it misses.
std::string FromHex(const Json& text) {
  std::string bytes;
  if (!absl::HexStringToBytes(text.get<std::string>(), &bytes)) bytes.clear();
  return bytes;
}

Job ParseJob(const Json& json) {
  Job job{.model = json.at("model").get<std::string>()};
  job.options = {
      .device = DeviceChoice::kCuda,
      .optimization_level = json.at("optimization_level").get<int>(),
      .precision = static_cast<PrecisionChoice>(json.at("precision").get<uint8_t>()),
      .allow_nondeterministic = json.at("allow_nondeterministic").get<bool>(),
      .disabled_passes = json.at("disabled_passes").get<std::vector<std::string>>(),
      .partitioner = static_cast<PartitionerChoice>(json.at("partitioner").get<uint8_t>()),
      .map_external_data = json.at("map_external_data").get<bool>(),
      .follow_hub_links = json.at("follow_hub_links").get<bool>(),
      .streams = json.at("streams").get<int>(),
      .max_memory_bytes = json.at("max_memory_bytes").get<int64_t>()};
  const Json& inputs = json.at("inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int place = static_cast<int>(i);
    const Json& input = inputs[i];
    job.key.dims.push_back(input.at("dims").get<Dims>());
    if (input.contains("bytes")) job.key.values.bytes[place] = FromHex(input.at("bytes"));
    if (!input.contains("strings")) continue;
    for (const Json& s : input.at("strings")) job.key.values.strings[place].push_back(FromHex(s));
  }
  return job;
}

absl::StatusOr<Job> ReadJob(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostJobBytes));
  try {
    return ParseJob(Json::parse(text));
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no job of tuning: ", e.what()));
  }
}

absl::Status BuildProgram(const LoadedModel& model, const ProgramTable::Key& key) {
  if (key.dims.size() != model.inputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat("the job has ", key.dims.size(),
                                                   " inputs, the model ", model.inputs().size()));
  }
  std::vector<TensorView> views;
  for (size_t i = 0; i < key.dims.size(); ++i) {
    views.push_back({.dtype = model.inputs()[i].dtype, .shape = key.dims[i]});
  }
  for (const auto& [i, bytes] : key.values.bytes) {
    views[i].data = const_cast<char*>(bytes.data());
  }
  for (const auto& [i, strings] : key.values.strings) {
    views[i].data = const_cast<std::string*>(strings.data());
  }
  std::vector<const TensorView*> inputs;
  for (const TensorView& view : views) inputs.push_back(&view);
  return model.Prepare(inputs, /*callers_stream=*/nullptr).status();
}

}  // namespace

WorkerTuning::WorkerTuning(std::string folder, std::string program, std::string model,
                           const SessionOptions& options)
    : folder_(std::move(folder)),
      program_(std::move(program)),
      model_(std::move(model)),
      options_(options),
      left_s_(options.tune_budget_s) {}

WorkerTuning::~WorkerTuning() {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

absl::StatusOr<std::unique_ptr<WorkerTuning>> WorkerTuning::Create(const ModelSource& source,
                                                                   const SessionOptions& options) {
  const std::string program = options.tune_worker.empty() ? DefaultProgram() : options.tune_worker;
  if (access(program.c_str(), X_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("no worker program ", program, ": ", std::strerror(errno)));
  }
  ASSIGN_OR_RETURN(std::string folder, MakeFolder());
  std::error_code error;
  const bool has_path = !source.path.empty();
  std::string model = has_path ? std::filesystem::absolute(source.path, error).string()
                               : absl::StrCat(folder, "/model.onnx");
  std::unique_ptr<WorkerTuning> tuning(
      new WorkerTuning(std::move(folder), program, std::move(model), options));
  if (!has_path) RETURN_IF_ERROR(WriteFile(tuning->model_, source.bytes));
  return tuning;
}

void WorkerTuning::Stop() { stopped_ = true; }

absl::StatusOr<WorkerReport> WorkerTuning::Start(const ProgramTable::Key& key, double budget_s,
                                                 PlanCache& cache) {
  const WorkerRequest request{.program = program_,
                              .job = absl::StrCat(folder_, "/job.json"),
                              .plan_cache = absl::StrCat(folder_, "/plans.json"),
                              .budget_s = budget_s,
                              .progress = options_.tune_progress,
                              .cancel = &stopped_};
  if (stopped_) return absl::CancelledError("no more is measured");
  RETURN_IF_ERROR(WriteFile(request.job, JobOf(model_, options_, key).dump()));
  RETURN_IF_ERROR(cache.WriteTo(request.plan_cache));
  ASSIGN_OR_RETURN(WorkerReport report, MeasureInWorker(request));
  // A bar of a worker that died is over too.
  if (request.progress) request.progress(report.signatures, report.signatures);
  RETURN_IF_ERROR(cache.Add(request.plan_cache));
  return report;
}

void WorkerTuning::Measure(const ProgramTable::Key& key,
                           absl::Span<const Candidate* const> candidates, PlanCache& cache,
                           Tuner& tuner) {
  absl::MutexLock measuring(measuring_);
  if (tuner.Knows(candidates)) return;
  double left_s;
  {
    absl::MutexLock lock(mutex_);
    left_s = left_s_;
  }
  if (left_s <= 0) return;
  absl::StatusOr<WorkerReport> started = Start(key, left_s, cache);
  if (absl::IsCancelled(started.status())) return;
  WorkerReport report = started.ok()
                            ? *std::move(started)
                            : WorkerReport{.notes = {std::string(started.status().message())}};
  left_s -= report.seconds;
  const bool in_background = options_.tune == TuneMode::kBackground;
  if (!report.served) {
    report.notes.push_back(in_background ? "nothing more is tuned in the background"
                                         : "measured in this process");
    if (!in_background) tuner.AddBudget(left_s);
  }
  absl::MutexLock lock(mutex_);
  left_s_ = report.served && !report.gave_up ? left_s : 0;
  report_.seconds += report.seconds;
  report_.signatures += report.signatures;
  std::move(report.notes.begin(), report.notes.end(), std::back_inserter(report_.notes));
}

WorkerReport WorkerTuning::report() const {
  absl::MutexLock lock(mutex_);
  return report_;
}

bool WorkerTuning::has_budget() const {
  absl::MutexLock lock(mutex_);
  return left_s_ > 0;
}

absl::StatusOr<std::vector<Choice>> WorkerPricer::Choose(
    absl::Span<const Candidate* const> candidates) {
  if (calls_ < kMostCalls && !tuner_.Knows(candidates)) {
    ++calls_;
    RETURN_IF_ERROR(measure_(candidates));
  }
  return tuner_.Choose(candidates);
}

absl::Status WorkOnJob(const std::string& job_file, const std::string& plan_cache, double budget_s,
                       bool one_at_a_time,
                       absl::FunctionRef<absl::StatusOr<OpenedDevice>(const SessionOptions&)> open,
                       WorkerLines& lines) {
  ASSIGN_OR_RETURN(Job job, ReadJob(job_file));
  job.options.tune_budget_s = budget_s;
  job.options.plan_cache = plan_cache;
  ASSIGN_OR_RETURN(OpenedDevice opened, open(job.options));
  ASSIGN_OR_RETURN(
      Graph graph,
      LoadModel(job.model, {.external_bytes = job.options.map_external_data ? ExternalBytes::kMap
                                                                            : ExternalBytes::kRead,
                            .follow_hub_links = job.options.follow_hub_links}));
  TuneSetup setup;
  setup.observer = lines.Observer();
  setup.one_at_a_time = one_at_a_time;
  ASSIGN_OR_RETURN(const auto model,
                   LoadedModel::Create(std::move(graph), job.options, /*load_ms=*/0,
                                       std::move(opened), std::move(setup)));
  RETURN_IF_ERROR(BuildProgram(*model, job.key));
  lines.Done(model->tuner_stats());
  return absl::OkStatus();
}

}  // namespace onnx_cudnn
