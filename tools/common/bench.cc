#include "tools/common/bench.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"
#include "runtime/gpu/gpu.h"
#include "tools/common/bench_gpu.h"
#include "tools/common/elements.h"
#include "tools/common/exit_codes.h"
#include "tools/common/load_session.h"
#include "tools/common/plan_flags.h"

namespace onnx_cudnn {
namespace {

constexpr uintptr_t kLegacyStream = 1;      // cudaStreamLegacy
constexpr int kMostEnqueues = 50;           // timed ones
constexpr double kLeastSampledSeconds = 1;  // nvidia-smi should answer within half of it

double SecondsSince(absl::Time start) { return absl::ToDoubleSeconds(absl::Now() - start); }

template <typename T>
absl::StatusOr<T> Take(Result<T> result) {
  if (!result.ok()) return ToStatus(result.error());
  return std::move(result).value();
}

// The batch that is asked for, or the model's own. InvalidArgument: the model takes only another
// one.
absl::StatusOr<int64_t> BatchOf(const std::vector<ValueInfo>& infos, const BenchRequest& request) {
  const ValueInfo* fixed = nullptr;
  for (const ValueInfo& info : infos) {
    const auto named = [&](const NamedText& text) {
      return text.name.empty() || text.name == info.name;
    };
    const bool is_shaped = std::any_of(request.shapes.begin(), request.shapes.end(), named);
    if (is_shaped || !info.ranked || info.dims.empty()) return request.batch.value_or(1);
    if (info.dims[0].value < 0) return request.batch.value_or(1);
    if (request.batch == info.dims[0].value) return *request.batch;
    if (fixed == nullptr) fixed = &info;
  }
  if (fixed == nullptr || !request.batch.has_value()) {
    return fixed == nullptr ? request.batch.value_or(1) : fixed->dims[0].value;
  }
  return absl::InvalidArgumentError(absl::StrFormat("expected a model that takes batch %d, %s",
                                                    *request.batch, ToString(*fixed)));
}

// Runs the Session once; its errors mention the numbers taken for missing dims.
absl::StatusOr<std::vector<Tensor>> RunOnce(const Session& session,
                                            const std::vector<ModelInput>& made,
                                            const std::vector<NamedView>& inputs) {
  absl::StatusOr<std::vector<Tensor>> outputs = Take(session.Run(inputs));
  std::map<std::string, std::string, std::less<>> taken;
  for (const ModelInput& input : made) taken[input.name] = input.taken;
  if (!outputs.ok()) return WithTakenDims(outputs.status(), taken);
  for (const auto& [name, words] : taken) {
    if (!words.empty()) std::cerr << "input " << Printable(name) << " " << Printable(words) << "\n";
  }
  return outputs;
}

// A Binding over copies in device memory.
struct OnDevice {
  std::vector<Tensor> inputs, outputs;
  Binding binding;
};

absl::StatusOr<OnDevice> BindOnDevice(const Session& session, const std::vector<NamedView>& inputs,
                                      const std::vector<Tensor>& outputs) {
  std::vector<Tensor> in_tensors, out_tensors;
  std::vector<NamedView> in, out;
  for (const NamedView& input : inputs) {
    ASSIGN_OR_RETURN(in_tensors.emplace_back(), Take(session.ToDevice(input.view)));
    in.emplace_back(input.name, in_tensors.back().view());
  }
  for (const Tensor& output : outputs) {
    ASSIGN_OR_RETURN(out_tensors.emplace_back(), Take(session.ToDevice(output.view())));
    out.emplace_back(out_tensors.back().view());
  }
  ASSIGN_OR_RETURN(Binding binding, Take(session.Bind(in, out)));
  return OnDevice{std::move(in_tensors), std::move(out_tensors), std::move(binding)};
}

// One Binding per thread.
absl::StatusOr<std::vector<OnDevice>> BindThreads(const Session& session,
                                                  const std::vector<NamedView>& inputs,
                                                  const std::vector<Tensor>& outputs, int threads) {
  std::vector<OnDevice> bound;
  for (int t = 0; t < threads; ++t) {
    ASSIGN_OR_RETURN(OnDevice one, BindOnDevice(session, inputs, outputs));
    bound.push_back(std::move(one));
  }
  return bound;
}

int64_t BytesOf(const OnDevice& bound) {
  int64_t bytes = 0;
  for (const Tensor& tensor : bound.inputs) bytes += tensor.bytes();
  for (const Tensor& tensor : bound.outputs) bytes += tensor.bytes();
  return bytes;
}

absl::Status WarmUp(Binding& binding, double warm_up_ms) {
  double ms = 1e3;
  for (double done = 0; done < warm_up_ms; done += ms) {
    ASSIGN_OR_RETURN(const std::vector<double> one, Take(binding.TimeRuns(1)));
    ms = std::max(one[0], 1e-3);
  }
  return absl::OkStatus();
}

absl::Status TimeAlone(Binding& binding, const BenchRequest& request, BenchRecord& record) {
  std::vector<double> alone;
  for (int i = 0; i < request.runs; ++i) {
    ASSIGN_OR_RETURN(const std::vector<double> one, Take(binding.TimeRuns(1)));
    alone.push_back(one[0]);
  }
  const Timing timing = SummarizeTimes(alone);
  record.median_ms = timing.median;
  record.mean_ms = timing.mean;
  record.p90_ms = timing.p90;
  record.p95_ms = timing.p95;
  record.p99_ms = timing.p99;
  return absl::OkStatus();
}

absl::StatusOr<double> RunsPerSecond(Binding& binding, double seconds, double median_ms) {
  const auto runs = static_cast<int>(std::max(1.0, 1e3 * seconds / median_ms));
  ASSIGN_OR_RETURN(const std::vector<double> ms, Take(binding.TimeRuns(runs)));
  return 1e3 * runs / std::accumulate(ms.begin(), ms.end(), 0.0);
}

// The rate of all threads together; each thread waits for each of its runs.
absl::StatusOr<double> RunsPerSecond(std::vector<OnDevice>& bound, double seconds) {
  for (OnDevice& one : bound) {
    for (int i = 0; i < 2; ++i)
      RETURN_IF_ERROR(ToStatus(one.binding.Run()));  // the second run captures its graph
  }
  std::vector<absl::Status> ended(bound.size());
  std::vector<int64_t> runs(bound.size());
  const absl::Time start = absl::Now();
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < bound.size(); ++t) {
    threads.emplace_back([&, t] {
      do {
        ended[t] = ToStatus(bound[t].binding.Run());
        ++runs[t];
      } while (ended[t].ok() && SecondsSince(start) < seconds);
    });
  }
  threads.clear();  // joins
  const double all_s = SecondsSince(start);
  for (const absl::Status& status : ended) RETURN_IF_ERROR(status);
  return static_cast<double>(std::accumulate(runs.begin(), runs.end(), int64_t{0})) / all_s;
}

absl::Status TimeBackToBack(std::vector<OnDevice>& bound, const BenchRequest& request, bool on_gpu,
                            BenchRecord& record) {
  std::future<GpuState> state;
  std::unique_ptr<Device> gpu;
  if (on_gpu && request.seconds >= kLeastSampledSeconds) {
    ASSIGN_OR_RETURN(gpu, OpenGpu());
    state = std::async(std::launch::async, [&request] {
      absl::SleepFor(absl::Seconds(request.seconds / 2));
      return ReadGpuState();
    });
  }
  const RunEnergy energy(gpu.get());
  const absl::Time start = absl::Now();
  const absl::StatusOr<double> runs_per_s =
      bound.size() > 1 ? RunsPerSecond(bound, request.seconds)
                       : RunsPerSecond(bound[0].binding, request.seconds, record.median_ms);
  RETURN_IF_ERROR(runs_per_s.status());
  record.images_per_s = static_cast<double>(record.batch) * *runs_per_s;
  record.joules = energy.PerRun(SecondsSince(start) * *runs_per_s);
  // After the end, nvidia-smi would report an idle GPU.
  if (state.valid() && state.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    const GpuState during = state.get();
    record.clock_mhz = during.clock_mhz;
    record.power_w = during.power_w;
  }
  return absl::OkStatus();
}

// The times that trtexec calls H2D, D2H and enqueue.
absl::Status TimeParts(OnDevice& bound, const BenchRequest& request, BenchRecord& record) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Device> gpu, OpenGpu());
  ASSIGN_OR_RETURN(const CopyTimes inputs, TimeCopies(*gpu, bound.inputs));
  ASSIGN_OR_RETURN(const CopyTimes outputs, TimeCopies(*gpu, bound.outputs));
  record.h2d_ms = inputs.to_device_ms;
  record.d2h_ms = outputs.to_host_ms;
  const int runs = std::min(request.runs, kMostEnqueues);
  void* const stream = reinterpret_cast<void*>(kLegacyStream);  // NOLINT: CUDA says so
  ASSIGN_OR_RETURN(record.enqueue_ms, TimeEnqueue(bound.binding, stream, runs));
  return absl::OkStatus();
}

// A model that is loaded, has run once, and is bound to device memory.
struct Opened {
  Session session;
  std::vector<ModelInput> made;
  std::vector<NamedView> inputs;
  std::vector<Tensor> outputs;
  std::vector<OnDevice> bound;  // one per thread
  BenchRecord record;

  bool on_gpu() const { return session.device_ref().kind == DeviceKind::kCuda; }
};

absl::Status Bind(Opened& opened, int threads) {
  opened.bound.clear();
  ASSIGN_OR_RETURN(opened.bound,
                   BindThreads(opened.session, opened.inputs, opened.outputs, threads));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Opened>> Open(const BenchRequest& request) {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(Session session, LoadSession(request.model, request.session));
  auto opened = std::make_unique<Opened>(Opened{std::move(session)});
  const std::vector<ValueInfo>& infos = opened->session.inputs();
  ASSIGN_OR_RETURN(int64_t batch, BatchOf(infos, request));
  ASSIGN_OR_RETURN(opened->made, MakeInputs(infos, {.shapes = request.shapes, .batch = batch}));
  const bool is_given = request.batch.has_value() || opened->made.empty();
  if (!is_given && !opened->made[0].tensor.dims().empty()) batch = opened->made[0].tensor.dims()[0];
  for (const ModelInput& input : opened->made) {
    opened->inputs.emplace_back(input.name, ViewOf(input.tensor));
  }
  ASSIGN_OR_RETURN(opened->outputs, RunOnce(opened->session, opened->made, opened->inputs));
  opened->record = RecordOf(opened->session, request, batch);
  opened->record.setup_s = SecondsSince(start);
  RETURN_IF_ERROR(Bind(*opened, request.threads));
  RETURN_IF_ERROR(WarmUp(opened->bound[0].binding, request.warm_up_ms));
  // Measures with the Programs tuned so far.
  if (request.session.tune == TuneMode::kBackground) {
    RETURN_IF_ERROR(Bind(*opened, request.threads));
  }
  return opened;
}

// Adds the Session's statistics.
void AddFacts(const Opened& opened, const BenchRequest& request, BenchRecord& record) {
  record.graph_note = opened.bound[0].binding.graph_note();
  record.cuda_graph = opened.on_gpu() && request.session.cuda_graph && record.graph_note.empty();
  const SessionStats stats = opened.session.stats();
  record.tune_s = stats.tune_ms / 1e3;
  record.tuned_signatures = stats.tuned_signatures;
  record.cached_signatures = stats.cached_signatures;
  record.peak_bytes =
      stats.weight_bytes + request.threads * (stats.arena_bytes + BytesOf(opened.bound[0]));
  if (stats.segmented_ms == 0) return;
  record.segments = stats.segments;
  record.nodes_between = stats.nodes_between;
  record.size_reads = stats.size_reads;
  record.between_ms = stats.between_ms;
  record.size_reads_ms = stats.size_reads_ms;
  record.segmented_ms = stats.segmented_ms;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Sets each field to its median over the rounds.
void TakeMedians(const std::vector<BenchRecord>& rounds, BenchRecord& record) {
  for (double BenchRecord::*const field :
       {&BenchRecord::median_ms, &BenchRecord::mean_ms, &BenchRecord::p90_ms, &BenchRecord::p95_ms,
        &BenchRecord::p99_ms}) {
    std::vector<double> values;
    for (const BenchRecord& round : rounds) values.push_back(round.*field);
    record.*field = MedianOf(std::move(values));
  }
}

}  // namespace

BenchRecord RecordOf(const Session& session, const BenchRequest& request, int64_t batch) {
  const DeviceFacts facts = session.device_facts();
  return {.model = std::filesystem::path(request.model).stem().string(),
          .precision = std::string(NameOf(session.precision())),
          .partitioner = std::string(NameOf(request.session.partitioner)),
          .batch = batch,
          .threads = request.threads,
          .context_s = session.stats().device_ms / 1e3,
          .device = facts.product,
          .driver = facts.driver,
          .cuda = facts.cuda,
          .cudnn = facts.cudnn};
}

absl::StatusOr<BenchRecord> Measure(const BenchRequest& request) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Opened> opened, Open(request));
  BenchRecord record = opened->record;
  RETURN_IF_ERROR(TimeAlone(opened->bound[0].binding, request, record));
  RETURN_IF_ERROR(TimeBackToBack(opened->bound, request, opened->on_gpu(), record));
  if (opened->on_gpu()) RETURN_IF_ERROR(TimeParts(opened->bound[0], request, record));
  AddFacts(*opened, request, record);
  return record;
}

absl::StatusOr<std::vector<BenchRecord>> MeasureAlternating(const BenchRequest& request,
                                                            PartitionerChoice other, int rounds) {
  std::vector<BenchRequest> requests = {request, request};
  requests[1].session.partitioner = other;
  std::vector<std::unique_ptr<Opened>> opened;
  for (const BenchRequest& one : requests) {
    ASSIGN_OR_RETURN(opened.emplace_back(), Open(one));
  }
  std::vector<std::vector<BenchRecord>> timed(opened.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < opened.size(); ++i) {
      BenchRecord& record = timed[i].emplace_back();
      RETURN_IF_ERROR(TimeAlone(opened[i]->bound[0].binding, request, record));
    }
  }
  std::vector<BenchRecord> records;
  for (size_t i = 0; i < opened.size(); ++i) {
    BenchRecord& record = records.emplace_back(opened[i]->record);
    TakeMedians(timed[i], record);
    AddFacts(*opened[i], requests[i], record);
  }
  return records;
}

}  // namespace onnx_cudnn
