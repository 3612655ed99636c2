#include "onnx_cudnn/session.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/forked.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/gpu/gpu.h"
#include "runtime/session/arguments.h"
#include "runtime/session/binding_impl.h"
#include "runtime/session/check_finite.h"
#include "runtime/session/check_options.h"
#include "runtime/session/edge.h"
#include "runtime/session/in_place.h"
#include "runtime/session/load_replicas.h"
#include "runtime/session/loaded_model.h"
#include "runtime/session/model_replicas.h"
#include "runtime/session/peer_inputs.h"
#include "runtime/session/profile_program.h"
#include "runtime/session/profile_segments.h"
#include "runtime/session/report_partitions.h"
#include "runtime/session/run_model.h"
#include "runtime/session/warm_up.h"

namespace onnx_cudnn {
namespace {

absl::Status RunOn(Executor& executor, const std::vector<const TensorView*>& inputs,
                   const std::vector<const TensorView*>& outputs, const RunOptions& options) {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const TensorView* input : inputs) in.push_back(input->data);
  for (const TensorView* output : outputs) out.push_back(output->data);
  return executor.Run(in, out, options.stream, options.cancel);
}

absl::StatusOr<std::vector<const TensorView*>> MatchOutputs(const LoadedModel& model,
                                                            const Prepared& prepared,
                                                            const std::vector<NamedView>& outputs) {
  ASSIGN_OR_RETURN(auto matched, MatchArguments(outputs, OutputsOf(model, prepared), "output",
                                                model.device().ref()));
  // Parts write the outputs when they have read all inputs (RunPartsInto).
  const Graph& graph = prepared.pool == nullptr ? model.graph() : prepared.pool->program().graph;
  RETURN_IF_ERROR(CheckMemory(prepared.inputs, matched,
                              [&](size_t output) { return InPlaceInput(graph, output); }));
  return matched;
}

std::vector<TensorView> Views(const std::vector<const TensorView*>& pointers) {
  std::vector<TensorView> views;
  for (const TensorView* view : pointers) views.push_back(*view);
  return views;
}

// Unimplemented, with `what` cannot be done yet: it is not one Program that runs without padding.
absl::Status CheckIsWhole(const Prepared& prepared, std::string_view what) {
  if (prepared.pool != nullptr) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("the model ", prepared.bucketed == nullptr ? "runs in segments" : "is padded",
                   ", and ", what, " yet"));
}

absl::Status CheckNumbers(DType dtype) {
  if (BitsOf(dtype) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected numbers, found ", NameOf(dtype)));
}

const std::vector<ValueInfo> kNoValues;

// Where the arguments of a call lie.
std::vector<DeviceRef> DevicesOf(const std::vector<NamedView>& inputs,
                                 const std::vector<NamedView>& outputs = {}) {
  std::vector<DeviceRef> devices;
  for (const NamedView& argument : inputs) devices.push_back(argument.view.device);
  for (const NamedView& argument : outputs) devices.push_back(argument.view.device);
  return devices;
}

void AddDevices(const ModelValue& value, std::vector<DeviceRef>& devices) {
  if (value.kind() == ValueKind::kTensor) devices.push_back(value.tensor().device());
  for (const ModelValue& element : value.elements()) AddDevices(element, devices);
}

bool AreOnHost(const std::vector<DeviceRef>& devices) {
  return std::all_of(devices.begin(), devices.end(),
                     [](const DeviceRef& device) { return device.kind == DeviceKind::kCpu; });
}

// A stream is one of the GPU in whose memory arguments lie.
absl::Status CheckStream(const ModelReplicas& replicas, const std::vector<DeviceRef>& devices,
                         const RunOptions& options) {
  if (options.stream == nullptr || replicas.models().size() == 1 || !AreOnHost(devices)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "run option stream: of several GPUs, the stream's is known by arguments in its memory, found "
      "none");
}

// Runs `body` on the replica that the arguments ask for, and again on another one where options
// say so.
template <typename Outputs, typename Body>
absl::StatusOr<Outputs> RunOnReplica(const ModelReplicas& replicas,
                                     const std::vector<DeviceRef>& devices,
                                     const RunOptions& options, Body body) {
  RETURN_IF_ERROR(CheckStream(replicas, devices, options));
  while (true) {
    ASSIGN_OR_RETURN(const ModelReplicas::Lease lease, replicas.Acquire(devices));
    const CallScope scope(*lease.model(), options.cancel);
    absl::StatusOr<Outputs> outputs = body(*lease.model());
    const bool is_final = outputs.ok() || !replicas.ShouldRerun(lease) || !AreOnHost(devices);
    if (is_final) return outputs;
  }
}

}  // namespace

Result<Session> Session::Load(const std::string& path, const SessionOptions& options) {
  return AtEdge<Session>([&]() -> absl::StatusOr<Session> {
    ASSIGN_OR_RETURN(auto models, LoadReplicas(options, {.path = path}));
    return Session(std::move(models));
  });
}

Result<Session> Session::LoadBytes(std::string_view bytes, const SessionOptions& options) {
  return AtEdge<Session>([&]() -> absl::StatusOr<Session> {
    ASSIGN_OR_RETURN(auto models, LoadReplicas(options, {.bytes = bytes}));
    return Session(std::move(models));
  });
}

Session::Session(std::shared_ptr<const LoadedModel> model)
    : replicas_(std::make_shared<const ModelReplicas>(
          std::vector<std::shared_ptr<const LoadedModel>>{std::move(model)})) {}
Session::Session(std::shared_ptr<const ModelReplicas> replicas) : replicas_(std::move(replicas)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  // After the swap it holds the old Session, which is destroyed here.
  Session last(std::move(other));
  std::swap(replicas_, last.replicas_);
  return *this;
}
Session::~Session() {
  AbandonIfForked(replicas_);
  if (replicas_ == nullptr) return;
  for (const auto& model : replicas_->models()) model->StopTuning();
}

const std::vector<ValueInfo>& Session::inputs() const {
  return replicas_ == nullptr ? kNoValues : replicas_->first()->inputs();
}
const std::vector<ValueInfo>& Session::outputs() const {
  return replicas_ == nullptr ? kNoValues : replicas_->first()->outputs();
}
std::string_view Session::device() const {
  return replicas_ == nullptr ? std::string_view() : replicas_->first()->device().device().name();
}
DeviceRef Session::device_ref() const {
  return replicas_ == nullptr ? DeviceRef() : replicas_->first()->device().ref();
}
DeviceFacts Session::device_facts() const {
  return replicas_ == nullptr ? DeviceFacts() : replicas_->first()->device().facts();
}
PrecisionChoice Session::precision() const {
  return replicas_ == nullptr ? PrecisionChoice::kAuto : replicas_->first()->precision();
}
std::string_view Session::device_note() const {
  return replicas_ == nullptr ? std::string_view() : replicas_->first()->device().note();
}
SessionStats Session::stats() const {
  return replicas_ == nullptr ? SessionStats() : replicas_->stats();
}

Result<std::vector<Tensor>> Session::Run(const std::vector<NamedView>& inputs,
                                         const RunOptions& options) const {
  return AtEdge<std::vector<Tensor>>([&]() -> absl::StatusOr<std::vector<Tensor>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
    return RunOnReplica<std::vector<Tensor>>(
        *replicas_, DevicesOf(inputs), options,
        [&](const LoadedModel& model) -> absl::StatusOr<std::vector<Tensor>> {
          ASSIGN_OR_RETURN(const PeerInputs here, PeerInputs::Of(model, inputs, options));
          ASSIGN_OR_RETURN(const Prepared prepared, PrepareRun(model, here.views(), options));
          ASSIGN_OR_RETURN(std::vector<Tensor> outputs, RunIntoNew(model, prepared, options));
          RETURN_IF_ERROR(CheckFinite(model, outputs));
          return outputs;
        });
  });
}

Result<std::vector<ModelValue>> Session::RunValues(const std::vector<NamedValue>& inputs,
                                                   const RunOptions& options) const {
  return AtEdge<std::vector<ModelValue>>([&]() -> absl::StatusOr<std::vector<ModelValue>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
    std::vector<DeviceRef> devices;
    for (const NamedValue& input : inputs) AddDevices(input.value, devices);
    return RunOnReplica<std::vector<ModelValue>>(
        *replicas_, devices, options,
        [&](const LoadedModel& model) -> absl::StatusOr<std::vector<ModelValue>> {
          ASSIGN_OR_RETURN(const std::vector<NamedValue> here, ValuesHere(model, inputs, options));
          ASSIGN_OR_RETURN(std::vector<ModelValue> outputs, RunIntoNew(model, here, options));
          RETURN_IF_ERROR(CheckFinite(model, outputs));
          return outputs;
        });
  });
}

Result<void> Session::Run(const std::vector<NamedView>& inputs,
                          const std::vector<NamedView>& outputs, const RunOptions& options) const {
  return AtEdge<void>([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
    const std::vector<DeviceRef> devices = DevicesOf(inputs, outputs);
    RETURN_IF_ERROR(CheckStream(*replicas_, devices, options));
    ASSIGN_OR_RETURN(const auto lease, replicas_->Acquire(devices));
    const LoadedModel& model = *lease.model();
    const CallScope scope(model, options.cancel);
    ASSIGN_OR_RETURN(const PeerInputs here, PeerInputs::Of(model, inputs, options));
    ASSIGN_OR_RETURN(Prepared prepared, PrepareRun(model, here.views(), options));
    ASSIGN_OR_RETURN(auto matched, MatchOutputs(model, prepared, outputs));
    if (prepared.pool == nullptr) {
      RETURN_IF_ERROR(RunPartsInto(model, Views(prepared.inputs), Views(matched), options));
      return CheckFinite(model, Views(matched));
    }
    ASSIGN_OR_RETURN(ExecutorPool::Lease executor, prepared.pool->Acquire());
    RETURN_IF_ERROR(RunOn(*executor, prepared.inputs, matched, options));
    return CheckFinite(model, Views(matched));
  });
}

Result<void> Session::WarmUp(const std::vector<NamedView>& inputs, int runs_at_once) const {
  return AtEdge<void>([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
    return WarmUpReplicas(*replicas_, inputs, runs_at_once);
  });
}

Result<Binding> Session::Bind(const std::vector<NamedView>& inputs,
                              const std::vector<NamedView>& outputs) const {
  return AtEdge<Binding>([&]() -> absl::StatusOr<Binding> {
    RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
    ASSIGN_OR_RETURN(const auto lease, replicas_->Acquire(DevicesOf(inputs, outputs)));
    const LoadedModel& model = *lease.model();
    const CallScope scope(model);
    ASSIGN_OR_RETURN(Prepared prepared, PrepareRun(model, inputs, {}));
    ASSIGN_OR_RETURN(auto matched, MatchOutputs(model, prepared, outputs));
    auto impl = std::make_unique<Binding::Impl>();
    impl->model = lease.model();
    impl->views = Views(prepared.inputs);
    impl->output_views = Views(matched);
    if (prepared.pool == nullptr) {
      impl->is_padded = prepared.bucketed != nullptr;
      return Binding(std::move(impl));
    }
    ASSIGN_OR_RETURN(impl->values,
                     model.reader().ValuesIn(prepared.inputs, /*callers_stream=*/nullptr));
    for (const TensorView* input : prepared.inputs) impl->inputs.push_back(input->data);
    for (const TensorView* output : matched) impl->outputs.push_back(output->data);
    ASSIGN_OR_RETURN(impl->executor, prepared.pool->MakeExecutor());
    return Binding(std::move(impl));
  });
}

Result<std::vector<ValueInfo>> Session::OutputsFor(const std::vector<NamedView>& inputs) const {
  return AtEdge<std::vector<ValueInfo>>([&]() -> absl::StatusOr<std::vector<ValueInfo>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
    ASSIGN_OR_RETURN(const auto next, replicas_->Next(DevicesOf(inputs)));
    const LoadedModel& model = *next;
    const CallScope scope(model);
    ASSIGN_OR_RETURN(Prepared prepared, PrepareRun(model, inputs, {}));
    const bool is_in_parts = prepared.pool == nullptr && prepared.bucketed == nullptr;
    if (is_in_parts) return model.OutputsOfParts(prepared.inputs);
    return OutputsOf(model, prepared);
  });
}

Result<std::vector<CheckedPartition>> Session::CheckPartitions(
    const std::vector<NamedView>& inputs) const {
  return AtEdge<std::vector<CheckedPartition>>(
      [&]() -> absl::StatusOr<std::vector<CheckedPartition>> {
        RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
        ASSIGN_OR_RETURN(const auto next, replicas_->Next(DevicesOf(inputs)));
        const LoadedModel& model = *next;
        const CallScope scope(model);
        ASSIGN_OR_RETURN(Prepared prepared, PrepareRun(model, inputs, {}));
        RETURN_IF_ERROR(CheckMemory(prepared.inputs, {}));
        RETURN_IF_ERROR(CheckIsWhole(prepared, "the partitions of such a run cannot be checked"));
        return ReportPartitions(prepared.pool->program(), prepared.inputs, model.device());
      });
}

Result<RunProfile> Session::Profile(const std::vector<NamedView>& inputs,
                                    const ProfileOptions& options) const {
  return AtEdge<RunProfile>([&]() -> absl::StatusOr<RunProfile> {
    RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
    ASSIGN_OR_RETURN(const auto lease, replicas_->Acquire(DevicesOf(inputs)));
    const LoadedModel& model = *lease.model();
    const CallScope scope(model);
    ASSIGN_OR_RETURN(Prepared prepared, PrepareRun(model, inputs, {}));
    RETURN_IF_ERROR(CheckMemory(prepared.inputs, {}));
    const bool is_in_parts = prepared.pool == nullptr && prepared.bucketed == nullptr;
    if (is_in_parts) return ProfileSegments(model, prepared.inputs, options);
    RETURN_IF_ERROR(CheckIsWhole(prepared, "the steps of such a run cannot be timed"));
    return ProfileProgram(*prepared.pool, prepared.inputs, model.device().target(), options);
  });
}

Result<Tensor> Session::ToDevice(const TensorView& host) const {
  return ToDevice(host, device_ref());
}

Result<Tensor> Session::ToDevice(const TensorView& host, const DeviceRef& device) const {
  return AtEdge<Tensor>([&]() -> absl::StatusOr<Tensor> {
    RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
    const std::shared_ptr<const LoadedModel> model = replicas_->On(device);
    if (model == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("the session does not use ", NameOf(device)));
    }
    const CallScope scope(*model);
    RETURN_IF_ERROR(CheckNumbers(host.dtype));
    if (host.device != DeviceRef{}) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected memory of the host, found memory of ", NameOf(host.device)));
    }
    ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(host.dtype, host.shape));
    RETURN_IF_ERROR(model->device().device().MakeCurrent());
    RETURN_IF_ERROR(CheckPointer(host, "tensor", 0));
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory,
                     model->device().device().Allocate(bytes, Space::kDevice));
    RETURN_IF_ERROR(model->device().transfers().ToDevice(host.data, memory.get(), bytes));
    Tensor tensor;
    tensor.device_ = device;
    tensor.dtype_ = host.dtype;
    tensor.shape_ = host.shape;
    std::byte* const data = memory.get();
    // The owner keeps the device alive until the memory is freed.
    tensor.data_ =
        std::shared_ptr<void>(data, [memory = std::move(memory), owner = model](void*) mutable {
          AbandonIfForked(owner);
          AbandonIfForked(memory);
          memory.reset();
        });
    return tensor;
  });
}

Result<Tensor> Session::ToHost(const Tensor& tensor) const {
  return AtEdge<Tensor>([&]() -> absl::StatusOr<Tensor> {
    RETURN_IF_ERROR(CheckNotMovedFrom(replicas_, "Session"));
    const std::shared_ptr<const LoadedModel> on = replicas_->On(tensor.device());
    const LoadedModel& model = on == nullptr ? *replicas_->first() : *on;
    const CallScope scope(model);
    RETURN_IF_ERROR(CheckNumbers(tensor.dtype()));
    RETURN_IF_ERROR(CheckPointer(tensor.view(), "tensor", 0));
    Result<Tensor> copy = Tensor::Allocate(tensor.dtype(), tensor.shape());
    RETURN_IF_ERROR(model.device().device().MakeCurrent());
    if (!copy.ok()) return absl::ResourceExhaustedError(copy.error().message);
    RETURN_IF_ERROR(
        model.device().transfers().ToHost(tensor.raw(), copy.value().raw(), tensor.bytes()));
    return std::move(copy).value();
  });
}

}  // namespace onnx_cudnn
