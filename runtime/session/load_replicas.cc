#include "runtime/session/load_replicas.h"

#include <algorithm>
#include <future>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/progress.h"
#include "runtime/base/start_times.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/gpu/examine.h"
#include "runtime/gpu/gpu.h"
#include "runtime/graph/op_library.h"
#include "runtime/plan/known_devices.h"
#include "runtime/session/check_options.h"
#include "runtime/session/loaded_model.h"
#include "runtime/session/loading_model.h"
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

// The model for the GPU that is being opened, optimized meanwhile. nullopt: it is no GPU.
absl::StatusOr<std::optional<OptimizedGraph>> OptimizeMeanwhile(const LoadingModel& model,
                                                                const SessionOptions& options,
                                                                OpeningDevice& opening) {
  std::optional<DeviceInfo> info = opening.Info();
  if (!info.has_value()) return std::nullopt;
  if (options.compute_capability != 0) {
    ASSIGN_OR_RETURN(info, AsCapability(*std::move(info), options.compute_capability));
  }
  return model.OptimizeFor(options, {.info = *std::move(info)});
}

// The plan cache of the options, with the plans of a compiled model.
absl::StatusOr<std::unique_ptr<PlanCache>> OpenPlans(const std::string& path,
                                                     const CompiledModel* compiled) {
  ASSIGN_OR_RETURN(std::unique_ptr<PlanCache> cache, PlanCache::Open(path));
  if (compiled == nullptr) return cache;
  ASSIGN_OR_RETURN(PlanFile plans, compiled->Plans());
  cache->AddEntries(std::move(plans));
  return cache;
}

// Begins to read them on another thread. An invalid future: there are none.
std::future<absl::StatusOr<std::unique_ptr<PlanCache>>> OpeningPlans(
    const SessionOptions& options, const CompiledModel* compiled) {
  const bool has_plans = compiled != nullptr && !compiled->facts().engines.empty();
  if (options.device == DeviceChoice::kCpu || (options.plan_cache.empty() && !has_plans)) return {};
  return std::async([path = options.plan_cache, compiled] { return OpenPlans(path, compiled); });
}

// Whether Programs are expected to have Steps of cuDNN: not where a compiled model has plans of
// other engines only.
bool ExpectsCudnn(const CompiledModel* compiled) {
  if (compiled == nullptr || compiled->facts().engines.empty()) return true;
  const std::vector<std::string>& engines = compiled->facts().engines;
  return std::any_of(engines.begin(), engines.end(),
                     [](const std::string& engine) { return absl::StartsWith(engine, "cudnn "); });
}

// Says which plans do not suit, unless all is planned again.
void NoteEngines(const LoadingModel& model, const OpenedDevice& opened, OptimizedGraph& optimized) {
  if (model.compiled() == nullptr || !optimized.note.empty()) return;
  if (opened.device->name() == "cpu") return;  // there plans are not used
  optimized.note = model.compiled()->OtherEngines(opened.target.target);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ModelReplicas>> LoadReplicas(const SessionOptions& asked,
                                                                  const ModelSource& source) {
  const StartScope scope_of_load("load the session");
  const ThreadPool::Limit limit(asked.threads);
  const ProgressReporter reporter(asked.progress);
  const ProgressScope scope(asked.cancel, &reporter);
  std::optional<StartScope> asks(std::in_place, "ask for the current GPU");
  const KeepCurrentGpu gpu(asked.device != DeviceChoice::kCpu);
  asks.reset();
  RETURN_IF_ERROR(CheckOptions(asked));
  RETURN_IF_ERROR(LoadOpLibraries(asked.op_libraries));
  ASSIGN_OR_RETURN(LoadingModel model, LoadingModel::Open(source));
  const SessionOptions options = model.OptionsFor(asked);
  const std::vector<int> ordinals = OrdinalsOf(options);
  const SessionOptions first = OptionsOn(ordinals[0], options);
  const GpuSetup gpu_setup{.expects_cudnn = ExpectsCudnn(model.compiled())};
  OpeningDevice opening(first, [&](const SessionOptions& on, const OnDeviceInfo& on_info) {
    return OpenDeviceWith(on, on_info, gpu_setup);
  });
  TuneSetup setup{.source = source, .plan_cache = OpeningPlans(options, model.compiled())};
  std::optional<StartScope> reads(std::in_place, "read the model");
  RETURN_IF_ERROR(model.Read(options));
  reads.reset();
  ASSIGN_OR_RETURN(std::optional<OptimizedGraph> optimized,
                   OptimizeMeanwhile(model, first, opening));
  std::optional<StartScope> waits(std::in_place, "wait for the device");
  ASSIGN_OR_RETURN(OpenedDevice opened, opening.Get());
  waits.reset();
  const size_t count = opened.device->name() != "cpu" ? ordinals.size() : 1;
  std::vector<std::shared_ptr<const LoadedModel>> models;
  while (true) {
    const size_t i = models.size();
    const Target& target = opened.target.target;
    const bool is_last = i + 1 == count;
    if (!optimized.has_value() || optimized->compute_capability != target.info.compute_capability) {
      ASSIGN_OR_RETURN(optimized, is_last ? model.OptimizeForLast(options, target)
                                          : model.OptimizeFor(options, target));
    }
    if (is_last) model.Drop();
    NoteEngines(model, opened, *optimized);
    ASSIGN_OR_RETURN(models.emplace_back(),
                     LoadedModel::Create(*std::exchange(optimized, std::nullopt),
                                         OptionsOn(ordinals[i], options), model.load_ms(),
                                         std::move(opened), std::move(setup)));
    if (is_last) break;
    SessionOptions next = OptionsOn(ordinals[i + 1], options);
    next.device = DeviceChoice::kCuda;  // a GPU that is not there is an error
    ASSIGN_OR_RETURN(opened, OpenDeviceWith(next, /*on_info=*/{}, gpu_setup));
    RETURN_IF_ERROR(opened.device->MakeCurrent());
    setup = TuneSetup{.source = source, .plan_cache = OpeningPlans(options, model.compiled())};
  }
  return std::make_shared<const ModelReplicas>(std::move(models), options.rerun_if_lost);
}

}  // namespace onnx_cudnn
