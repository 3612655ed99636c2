#include "runtime/session/tune_worker.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/gpu/gpu.h"
#include "runtime/graph/op_library.h"
#include "runtime/session/check_options.h"
#include "runtime/session/edge.h"
#include "runtime/session/loaded_model.h"
#include "runtime/session/loading_model.h"
#include "runtime/session/worker_job.h"

namespace onnx_cudnn {
namespace {

// Of a worker's budget: loading, searching and measuring. The rest is for building and timing whole
// networks.
constexpr double kMeasuringShare = 0.85;

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

absl::Status WorkOnJob(const std::string& job_file, const std::string& plan_cache, double budget_s,
                       bool one_at_a_time,
                       absl::FunctionRef<absl::StatusOr<OpenedDevice>(const SessionOptions&)> open,
                       WorkerLines& lines) {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(WorkerJob job, ReadJob(job_file));
  job.options.tune_budget_s = budget_s;
  job.options.plan_cache = plan_cache;
  RETURN_IF_ERROR(CheckOptions(job.options));
  const ThreadPool::Limit limit(job.options.threads);
  RETURN_IF_ERROR(LoadOpLibraries(job.options.op_libraries));
  ASSIGN_OR_RETURN(LoadingModel loading, LoadingModel::Open({.path = job.model}));
  OpeningDevice opening(job.options, [open](const SessionOptions& options, const OnDeviceInfo&) {
    return open(options);
  });
  RETURN_IF_ERROR(loading.Read(job.options));
  ASSIGN_OR_RETURN(OpenedDevice opened, opening.Get());
  opened.keeps_bodies = true;  // the Session runs the job's inputs with one Program
  TuneSetup setup;
  setup.observer = lines.Observer();
  setup.one_at_a_time = one_at_a_time;
  setup.measures_until = start + absl::Seconds(kMeasuringShare * budget_s);
  setup.until = start + absl::Seconds(budget_s);
  setup.compilers = opened.target.compilers;
  ASSIGN_OR_RETURN(OptimizedGraph optimized,
                   loading.OptimizeForLast(job.options, opened.target.target));
  ASSIGN_OR_RETURN(auto model, LoadedModel::Create(std::move(optimized), job.options, /*load_ms=*/0,
                                                   std::move(opened), std::move(setup)));
  RETURN_IF_ERROR(BuildProgram(*model, job.key));
  const TunerStats stats = model->tuner_stats();
  model.reset();  // with the processes that compile: the caller kills this one when it is done
  lines.Done(stats);
  return absl::OkStatus();
}

Result<void> RunTuneWorker(const std::string& job, const std::string& plan_cache, double budget_s,
                           bool one_at_a_time, const std::vector<std::string>& compiler,
                           int lines) {
  return AtEdge<void>([&]() -> absl::Status {
    WorkerLines written((Descriptor(lines)));
    // What is tried one at a time is tried in this process, so that its end tells which it was.
    const auto open = [&](const SessionOptions& options) {
      return one_at_a_time ? OpenDevice(options) : OpenDeviceWithCompilers(options, compiler);
    };
    const absl::Status status = WorkOnJob(job, plan_cache, budget_s, one_at_a_time, open, written);
    if (!status.ok()) written.Error(status.message());
    return status;
  });
}

Result<void> RunPlanCompiler(int ordinal, int socket) {
  return AtEdge<void>([&] { return CompilePlans(ordinal, socket); });
}

}  // namespace onnx_cudnn
