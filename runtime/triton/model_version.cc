#include "runtime/triton/model_version.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/triton/data_types.h"
#include "runtime/triton/errors.h"

namespace onnx_cudnn::triton {
namespace {

constexpr uint32_t kConfigVersion = 1;

absl::StatusOr<Json> JsonOf(TRITONSERVER_Message* message) {
  const char* text = nullptr;
  size_t bytes = 0;
  const absl::Status status = StatusOf(TRITONSERVER_MessageSerializeToJson(message, &text, &bytes));
  const std::string copy = status.ok() ? std::string(text, bytes) : std::string();
  LogIfError(TRITONSERVER_MessageDelete(message));
  RETURN_IF_ERROR(status);
  return Json::parse(copy);
}

absl::Status SetConfig(TRITONBACKEND_Model* model, const Json& config) {
  const std::string text = config.dump();
  TRITONSERVER_Message* message = nullptr;
  RETURN_IF_ERROR(
      StatusOf(TRITONSERVER_MessageNewFromSerializedJson(&message, text.data(), text.size())));
  const absl::Status status =
      StatusOf(TRITONBACKEND_ModelSetConfig(model, kConfigVersion, message));
  LogIfError(TRITONSERVER_MessageDelete(message));
  return status;
}

// Where the first instance will run.
Placement FirstPlacement(const std::vector<InstanceGroup>& groups) {
  const InstanceGroup& first = groups.front();
  return {.kind = first.kind, .gpu = first.gpus.empty() ? 0 : first.gpus.front()};
}

// "cpu (no NVIDIA driver)", "cuda:0 (KIND_GPU)": the device, and what chose it.
std::string DeviceOf(const Session& session, const Placement& placement) {
  const std::string device =
      placement.kind == "KIND_MODEL" ? std::string(session.device()) : placement.name();
  const std::string note(session.device_note());
  return absl::StrCat(device, " (", note.empty() ? placement.kind : note, ")");
}

absl::Status CheckDevices(const ModelSettings& settings, const std::vector<InstanceGroup>& groups) {
  if (settings.session.devices.empty()) return absl::OkStatus();
  for (const InstanceGroup& group : groups) {
    if (group.kind == "KIND_MODEL") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("parameter \"devices\" is for instance_group [{ kind: KIND_MODEL }], whose ",
                     "instances share one Session over these devices, found ", group.kind,
                     ", whose gpus say which ones it uses"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string Placement::name() const {
  if (kind == "KIND_GPU") return absl::StrCat("cuda:", gpu);
  return kind == "KIND_MODEL" ? "model" : "cpu";
}

absl::Status ModelVersion::ReadIdentity(TRITONBACKEND_Model* model) {
  const char* text = nullptr;
  uint64_t version = 0;
  TRITONBACKEND_ArtifactType type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  TRITONBACKEND_Backend* backend = nullptr;
  void* state = nullptr;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelName(model, &text)));
  name_ = text;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelVersion(model, &version)));
  version_ = std::to_string(version);
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelRepository(model, &type, &text)));
  if (type != TRITONBACKEND_ARTIFACT_FILESYSTEM) {
    return absl::UnimplementedError("models are read from files, found another kind of artifact");
  }
  folder_ = (std::filesystem::path(text) / version_).string();
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelBackend(model, &backend)));
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_BackendState(backend, &state)));
  backend_ = static_cast<const BackendState*>(state);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ModelVersion>> ModelVersion::Create(TRITONBACKEND_Model* model) {
  std::unique_ptr<ModelVersion> self(new ModelVersion);
  RETURN_IF_ERROR(self->ReadIdentity(model));
  TRITONSERVER_Message* message = nullptr;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelConfig(model, kConfigVersion, &message)));
  ASSIGN_OR_RETURN(self->json_, JsonOf(message));
  ASSIGN_OR_RETURN(self->config_, ReadConfig(self->json_));
  Parameters parameters = self->config_.parameters;
  parameters.insert(self->backend_->defaults.begin(), self->backend_->defaults.end());
  ASSIGN_OR_RETURN(self->settings_, ReadSettings(parameters, self->folder_));
  RETURN_IF_ERROR(CheckDevices(self->settings_, self->config_.groups));
  if (self->config_.max_batch > 0) {
    ASSIGN_OR_RETURN(self->batch_sizes_, BatchSizes(self->settings_, self->config_.max_batch));
  }
  const Placement first = FirstPlacement(self->config_.groups);
  ASSIGN_OR_RETURN(std::shared_ptr<DeviceSession> session, self->Load(first));
  RETURN_IF_ERROR(self->Complete(model, session->session()));
  Place& place = self->PlaceOf(first);
  const absl::MutexLock lock(place.loading);
  place.session = session;
  const absl::MutexLock members(self->mutex_);
  self->first_ = std::move(session);
  return self;
}

absl::Status ModelVersion::Complete(TRITONBACKEND_Model* model, const Session& session) {
  bool completes = false;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ModelAutoCompleteConfig(model, &completes)));
  if (completes) {
    RETURN_IF_ERROR(
        CompleteConfig(session.inputs(), session.outputs(), backend_->default_max_batch, json_));
    RETURN_IF_ERROR(SetConfig(model, json_));
    ASSIGN_OR_RETURN(config_, ReadConfig(json_));
  }
  RETURN_IF_ERROR(CheckConfig(json_, session.inputs(), session.outputs()));
  if (config_.max_batch > 0) {
    ASSIGN_OR_RETURN(batch_sizes_, BatchSizes(settings_, config_.max_batch));
  }
  for (const ValueInfo& output : session.outputs()) {
    outputs_.push_back({.name = output.name, .type = DataTypeOf(output.dtype)});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<DeviceSession>> ModelVersion::Load(
    const Placement& placement) const {
  SessionOptions options = settings_.session;
  options.device = placement.kind == "KIND_CPU"   ? DeviceChoice::kCpu
                   : placement.kind == "KIND_GPU" ? DeviceChoice::kCuda
                                                  : DeviceChoice::kAuto;
  if (placement.kind == "KIND_GPU") options.device_ordinal = placement.gpu;
  if (!settings_.has_max_executors) {
    options.max_executors_per_program = InstancesOn(config_.groups, placement.kind, placement.gpu);
  }
  if (!settings_.has_max_programs) {
    // Before the configuration is completed, its batches are at most default_max_batch.
    const int64_t largest = std::max(config_.max_batch, backend_->default_max_batch);
    ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, BatchSizes(settings_, largest));
    options.max_programs = std::max(options.max_programs, static_cast<int>(sizes.size()));
  }
  const std::string path = (std::filesystem::path(folder_) / config_.file).string();
  ASSIGN_OR_RETURN(Session session, StatusOr(Session::Load(path, options)));
  auto metrics =
      std::make_unique<SessionMetrics>(backend_->metrics, name_, version_, placement.name());
  auto loaded = std::make_shared<DeviceSession>(std::move(session), std::move(metrics));
  loaded->UpdateMetrics();
  return loaded;
}

ModelVersion::Place& ModelVersion::PlaceOf(const Placement& placement) {
  const absl::MutexLock lock(mutex_);
  std::unique_ptr<Place>& place = places_[placement.name()];
  if (place == nullptr) place = std::make_unique<Place>();
  return *place;
}

absl::StatusOr<std::shared_ptr<DeviceSession>> ModelVersion::SessionOn(const Placement& placement) {
  Place& place = PlaceOf(placement);
  const absl::MutexLock lock(place.loading);
  std::shared_ptr<DeviceSession> session = place.session.lock();
  if (session == nullptr) {
    ASSIGN_OR_RETURN(session, Load(placement));
    place.session = session;
    place.is_warm = false;
  }
  if (!place.is_warm) {
    ASSIGN_OR_RETURN(const std::string warmth, WarmUp(*session, placement));
    Log(TRITONSERVER_LOG_INFO, absl::StrCat(name_, " version ", version_, ": device ",
                                            DeviceOf(session->session(), placement), ", ", warmth));
    place.is_warm = true;
    session->UpdateMetrics();
  }
  const absl::MutexLock members(mutex_);
  if (first_ == session) first_ = nullptr;
  return session;
}

absl::StatusOr<std::string> ModelVersion::WarmUp(const DeviceSession& session,
                                                 const Placement& placement) const {
  if (settings_.warm_up == WarmUp::kNone) return "not warm: the parameter warm_up is none";
  const int runs = InstancesOn(config_.groups, placement.kind, placement.gpu);
  if (settings_.warm_up == WarmUp::kSizes) {
    for (const int64_t size : settings_.warm_up_sizes) {
      if (size <= std::max<int64_t>(config_.max_batch, 1)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter \"warm_up\": ", size, " is beyond max_batch_size = ", config_.max_batch));
    }
    RETURN_IF_ERROR(
        Annotate(WarmUpSizes(session, settings_.warm_up_sizes, runs), "parameter \"warm_up\""));
    return absl::StrCat("warm at batches ", absl::StrJoin(settings_.warm_up_sizes, ", "));
  }
  const std::vector<int64_t> any = {1};
  const absl::Status warm = WarmUpSizes(session, batch_sizes_.empty() ? any : batch_sizes_, runs);
  if (!warm.ok()) return absl::StrCat("not warm: ", warm.message());
  if (batch_sizes_.empty()) return "warm";
  return absl::StrCat("warm at batches ", absl::StrJoin(batch_sizes_, ", "));
}

absl::Status ModelVersion::WarmUpSizes(const DeviceSession& session,
                                       const std::vector<int64_t>& sizes, int runs) const {
  for (const int64_t size : sizes) {
    const int64_t rows = config_.max_batch > 0 ? SizeFor(batch_sizes_, size) : 0;
    ASSIGN_OR_RETURN(const auto shapes, InputShapes(json_, session.session().inputs(), rows));
    RETURN_IF_ERROR(Annotate(session.WarmUp(shapes, runs), absl::StrCat("batch ", size)));
  }
  return absl::OkStatus();
}

}  // namespace onnx_cudnn::triton
