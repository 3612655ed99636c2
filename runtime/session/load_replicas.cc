#include "runtime/session/load_replicas.h"

#include <future>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/host_span.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/gpu/examine.h"
#include "runtime/gpu/gpu.h"
#include "runtime/graph/op_library.h"
#include "runtime/plan/known_devices.h"
#include "runtime/session/check_options.h"
#include "runtime/session/loaded_model.h"
#include "runtime/session/open_device.h"
#include "runtime/session/optimized_graph.h"
#include "runtime/tune/plan_cache.h"

namespace onnx_cudnn {
namespace {

// The GPUs that the options name; one where there are none, for OpenDevice to say so.
std::vector<int> OrdinalsOf(const SessionOptions& options) {
  if (options.devices.empty()) return {options.device_ordinal};
  if (options.devices[0] != kAllDevices) return options.devices;
  const absl::StatusOr<int> count = GpuCount();
  std::vector<int> all(count.ok() && *count > 0 ? *count : 1);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

SessionOptions OptionsOn(int ordinal, const SessionOptions& options) {
  SessionOptions own = options;
  own.device_ordinal = ordinal;
  own.devices.clear();
  return own;
}

// `graph` for the GPU that is being opened, optimized meanwhile. nullopt: it is no GPU.
absl::StatusOr<std::optional<OptimizedGraph>> OptimizeMeanwhile(const Graph& graph,
                                                                const SessionOptions& options,
                                                                OpeningDevice& opening) {
  std::optional<DeviceInfo> info = opening.Info();
  if (!info.has_value()) return std::nullopt;
  if (options.compute_capability != 0) {
    ASSIGN_OR_RETURN(info, AsCapability(*std::move(info), options.compute_capability));
  }
  return OptimizeGraph(graph.Clone(), options, {.info = *std::move(info)});
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ModelReplicas>> LoadReplicas(
    const SessionOptions& options, const ModelSource& source,
    absl::FunctionRef<absl::StatusOr<Graph>()> load) {
  const ThreadPool::Limit limit(options.threads);
  const ProgressReporter reporter(options.progress);
  const ProgressScope scope(options.cancel, &reporter);
  const KeepCurrentGpu gpu(options.device != DeviceChoice::kCpu);
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(LoadOpLibraries(options.op_libraries));
  const std::vector<int> ordinals = OrdinalsOf(options);
  const SessionOptions first = OptionsOn(ordinals[0], options);
  OpeningDevice opening(first);
  std::future<absl::StatusOr<std::unique_ptr<PlanCache>>> plan_cache;
  if (!options.plan_cache.empty() && options.device != DeviceChoice::kCpu) {
    plan_cache = std::async([&options] { return PlanCache::Open(options.plan_cache); });
  }
  std::optional<HostScope> reads(std::in_place, "read the model");
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(Graph graph, load());
  const double load_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  reads.reset();
  ASSIGN_OR_RETURN(std::optional<OptimizedGraph> optimized,
                   OptimizeMeanwhile(graph, first, opening));
  std::optional<HostScope> waits(std::in_place, "wait for the device");
  ASSIGN_OR_RETURN(OpenedDevice opened, opening.Get());
  waits.reset();
  const bool on_gpu = opened.device->name() != "cpu";
  const size_t count = on_gpu ? ordinals.size() : 1;
  const auto graph_of = [&](size_t i) { return i + 1 == count ? std::move(graph) : graph.Clone(); };
  TuneSetup setup{.source = source, .plan_cache = std::move(plan_cache)};
  std::vector<std::shared_ptr<const LoadedModel>> models(count);
  const int capability = opened.target.target.info.compute_capability;
  if (optimized.has_value() && optimized->compute_capability == capability) {
    if (count == 1) const Graph unused = std::move(graph);
    ASSIGN_OR_RETURN(models[0], LoadedModel::Create(*std::move(optimized), first, load_ms,
                                                    std::move(opened), std::move(setup)));
  } else {
    ASSIGN_OR_RETURN(models[0], LoadedModel::Create(graph_of(0), first, load_ms, std::move(opened),
                                                    std::move(setup)));
  }
  for (size_t i = 1; i < count; ++i) {
    SessionOptions next = OptionsOn(ordinals[i], options);
    next.device = DeviceChoice::kCuda;  // a GPU that is not there is an error
    ASSIGN_OR_RETURN(opened, OpenDevice(next));
    RETURN_IF_ERROR(opened.device->MakeCurrent());
    ASSIGN_OR_RETURN(models[i],
                     LoadedModel::Create(graph_of(i), OptionsOn(ordinals[i], options), load_ms,
                                         std::move(opened), {.source = source}));
  }
  return std::make_shared<const ModelReplicas>(std::move(models), options.rerun_if_lost);
}

}  // namespace onnx_cudnn
