#include "runtime/session/model_replicas.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/session/arguments.h"

namespace onnx_cudnn {
namespace {

bool IsLost(const LoadedModel& model) { return model.device().device().is_lost(); }

// Adds what another replica has built, measured and holds.
void AddTo(SessionStats& sum, SessionStats other) {
  sum.plan_ms += other.plan_ms;
  sum.tune_ms += other.tune_ms;
  sum.tuned_signatures += other.tuned_signatures;
  sum.cached_signatures += other.cached_signatures;
  sum.programs_built += other.programs_built;
  sum.programs_held += other.programs_held;
  sum.programs_swapped += other.programs_swapped;
  sum.weight_bytes += other.weight_bytes;
  sum.padded_runs += other.padded_runs;
  sum.graph_captures += other.graph_captures;
  for (std::string& note : other.tune_notes) sum.tune_notes.push_back(std::move(note));
  for (ProgramBuild& build : other.builds) sum.builds.push_back(std::move(build));
}

}  // namespace

ModelReplicas::ModelReplicas(std::vector<std::shared_ptr<const LoadedModel>> models, bool reruns)
    : models_(std::move(models)), reruns_(reruns), loads_(models_.size()) {}

std::optional<size_t> ModelReplicas::LeastLoaded() const {
  std::optional<size_t> best;
  for (size_t i = 0; i < models_.size(); ++i) {
    // With one device, the failing call says more than that it is lost.
    if (models_.size() > 1 && IsLost(*models_[i])) continue;
    const auto load = [this](size_t of) { return std::tuple(loads_[of].running, loads_[of].runs); };
    if (!best.has_value() || load(i) < load(*best)) best = i;
  }
  return best;
}

ModelReplicas::Models::const_iterator ModelReplicas::Find(const DeviceRef& device) const {
  return std::find_if(models_.begin(), models_.end(),
                      [&](const auto& model) { return model->device().ref() == device; });
}

absl::StatusOr<size_t> ModelReplicas::Choose(absl::Span<const DeviceRef> arguments) const {
  for (const DeviceRef& device : arguments) {
    const auto on = Find(device);
    if (device.kind != DeviceKind::kCuda || on == models_.end()) continue;
    if (models_.size() == 1 || !IsLost(**on)) return on - models_.begin();
    return absl::FailedPreconditionError(
        absl::StrCat(NameOf(device), ", where the inputs or outputs are, is lost"));
  }
  if (const std::optional<size_t> least = LeastLoaded()) return *least;
  return absl::FailedPreconditionError(
      absl::StrCat("all ", models_.size(), " devices of the session are lost"));
}

absl::StatusOr<ModelReplicas::Lease> ModelReplicas::Acquire(
    absl::Span<const DeviceRef> arguments) const {
  absl::MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const size_t chosen, Choose(arguments));
  ++loads_[chosen].running;
  ++loads_[chosen].runs;
  return Lease(*this, chosen);
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> ModelReplicas::Next(
    absl::Span<const DeviceRef> arguments) const {
  absl::MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const size_t chosen, Choose(arguments));
  return models_[chosen];
}

void ModelReplicas::End(size_t index) const {
  absl::MutexLock lock(mutex_);
  --loads_[index].running;
}

bool ModelReplicas::ShouldRerun(const Lease& lease) const {
  return reruns_ && models_.size() > 1 && IsLost(*lease.model());
}

std::shared_ptr<const LoadedModel> ModelReplicas::On(const DeviceRef& device) const {
  const auto on = Find(device);
  return on == models_.end() ? nullptr : *on;
}

SessionStats ModelReplicas::stats() const {
  SessionStats sum = models_[0]->stats();
  for (size_t i = 1; i < models_.size(); ++i) AddTo(sum, models_[i]->stats());
  absl::MutexLock lock(mutex_);
  for (size_t i = 0; i < models_.size(); ++i) {
    sum.devices.push_back({.device = models_[i]->device().ref(),
                           .runs = loads_[i].runs,
                           .running = loads_[i].running,
                           .is_lost = IsLost(*models_[i])});
  }
  return sum;
}

}  // namespace onnx_cudnn
