#include "runtime/session/worker_tuning.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/file.h"
#include "runtime/base/own_folder.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/session/worker_job.h"

namespace onnx_cudnn {
namespace {

constexpr char kProgram[] = "onnx-cudnn-tune-worker";
constexpr int kMostWorkers = 3;  // per Program

// The worker beside the running program, else the one that is installed with the library; empty if
// the system tells neither folder.
std::string DefaultProgram() {
  std::string beside_program;
  for (const std::string& folder :
       {ProgramFolder(), LibraryFolder() + "/" ONNX_CUDNN_PROGRAMS_FROM_LIBRARY}) {
    const std::string program = absl::StrCat(folder, "/", kProgram);
    if (access(program.c_str(), X_OK) == 0) return program;
    if (beside_program.empty()) beside_program = program;
  }
  return beside_program;
}

// What runs the worker asks whether it is cancelled.
void ReportTuning(int64_t done, int64_t total) {
  ReportProgress(ProgressStage::kTuning, done, total, "a worker program measures").IgnoreError();
}

absl::StatusOr<std::string> MakeFolder() {
  std::error_code error;
  const std::filesystem::path temp = std::filesystem::temp_directory_path(error);
  std::string path = (temp / "onnx-cudnn-tune.XXXXXX").string();
  if (mkdtemp(path.data()) != nullptr) return path;
  return absl::NotFoundError(absl::StrCat(path, ": no folder: ", std::strerror(errno)));
}

}  // namespace

WorkerTuning::WorkerTuning(std::string folder, std::string program, std::string model,
                           const SessionOptions& options)
    : folder_(std::move(folder)),
      program_(std::move(program)),
      model_(std::move(model)),
      options_(options),
      left_s_(options.tune_budget_s) {}

std::string WorkerTuning::ProgramOf(const std::string& asked) {
  return asked.empty() ? DefaultProgram() : asked;
}

WorkerTuning::~WorkerTuning() {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

absl::StatusOr<std::unique_ptr<WorkerTuning>> WorkerTuning::Create(const ModelSource& source,
                                                                   const SessionOptions& options) {
  const std::string program = ProgramOf(options.tune_worker);
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
                              .progress = ReportTuning,
                              .cancel = &stopped_};
  if (stopped_) return absl::CancelledError("no more is measured");
  RETURN_IF_ERROR(WriteJob({.model = model_, .options = options_, .key = key}, request.job));
  RETURN_IF_ERROR(cache.WriteTo(request.plan_cache));
  ASSIGN_OR_RETURN(WorkerReport report, MeasureInWorker(request));
  // A worker that died would otherwise leave an unfinished progress bar.
  const int64_t all = std::max<int64_t>(report.signatures, 1);
  ReportTuning(all, all);
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
    const char* const then =
        in_background ? "nothing more is tuned in the background" : "measured in this process";
    report.notes.emplace_back(then);
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
  if (calls_ < kMostWorkers && !tuner_.Knows(candidates)) {
    ++calls_;
    RETURN_IF_ERROR(measure_(candidates));
  }
  return tuner_.Choose(candidates);
}

}  // namespace onnx_cudnn
