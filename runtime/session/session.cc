#include "onnx_cudnn/session.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/forked.h"
#include "runtime/base/progress.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/gpu/gpu.h"
#include "runtime/graph/op_library.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/session/arguments.h"
#include "runtime/session/binding_impl.h"
#include "runtime/session/check_options.h"
#include "runtime/session/edge.h"
#include "runtime/session/in_place.h"
#include "runtime/session/loaded_model.h"
#include "runtime/session/report_partitions.h"
#include "runtime/session/run_model.h"

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
  if (prepared.pool == nullptr) {
    RETURN_IF_ERROR(CheckMemory(prepared.inputs, matched));
    return matched;
  }
  const Graph& graph = prepared.pool->program().graph;
  RETURN_IF_ERROR(CheckMemory(prepared.inputs, matched,
                              [&](size_t output) { return InPlaceInput(graph, output); }));
  return matched;
}

std::vector<TensorView> Views(const std::vector<const TensorView*>& pointers) {
  std::vector<TensorView> views;
  for (const TensorView* view : pointers) views.push_back(*view);
  return views;
}

absl::Status CheckNumbers(DType dtype) {
  if (BitsOf(dtype) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected numbers, found ", NameOf(dtype)));
}

const std::vector<ValueInfo> kNoValues;

LoadOptions LoadOptionsOf(const SessionOptions& options) {
  return {.external_bytes = options.map_external_data ? ExternalBytes::kMap : ExternalBytes::kRead,
          .follow_hub_links = options.follow_hub_links};
}

template <typename LoadGraph>
absl::StatusOr<std::shared_ptr<const LoadedModel>> LoadWith(const SessionOptions& options,
                                                            ModelSource source, LoadGraph load) {
  const ThreadPool::Limit limit(options.threads);
  const ProgressReporter reporter(options.progress);
  const ProgressScope scope(options.cancel, &reporter);
  const KeepCurrentGpu gpu(options.device != DeviceChoice::kCpu);
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(LoadOpLibraries(options.op_libraries));
  OpeningDevice opening(options, OpenDevice);
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(Graph graph, load());
  const double load_ms = absl::ToDoubleMilliseconds(absl::Now() - start);
  ASSIGN_OR_RETURN(OpenedDevice opened, opening.Get());
  return LoadedModel::Create(std::move(graph), options, load_ms, std::move(opened),
                             {.source = std::move(source)});
}

}  // namespace

Result<Session> Session::Load(const std::string& path, const SessionOptions& options) {
  return AtEdge<Session>([&]() -> absl::StatusOr<Session> {
    ASSIGN_OR_RETURN(auto model, LoadWith(options, {.path = path},
                                          [&] { return LoadModel(path, LoadOptionsOf(options)); }));
    return Session(std::move(model));
  });
}

Result<Session> Session::LoadBytes(std::string_view bytes, const SessionOptions& options) {
  return AtEdge<Session>([&]() -> absl::StatusOr<Session> {
    ASSIGN_OR_RETURN(auto model, LoadWith(options, {.bytes = bytes}, [&] {
                       return LoadModelBytes(bytes, LoadOptionsOf(options));
                     }));
    return Session(std::move(model));
  });
}

Session::Session(std::shared_ptr<const LoadedModel> model) : model_(std::move(model)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  // After the swap it holds the old Session, which is destroyed here.
  Session last(std::move(other));
  std::swap(model_, last.model_);
  return *this;
}
Session::~Session() {
  AbandonIfForked(model_);
  if (model_ != nullptr) model_->StopTuning();
}

const std::vector<ValueInfo>& Session::inputs() const {
  return model_ == nullptr ? kNoValues : model_->inputs();
}
const std::vector<ValueInfo>& Session::outputs() const {
  return model_ == nullptr ? kNoValues : model_->outputs();
}
std::string_view Session::device() const {
  return model_ == nullptr ? std::string_view() : model_->device().device().name();
}
DeviceRef Session::device_ref() const {
  return model_ == nullptr ? DeviceRef() : model_->device().ref();
}
DeviceFacts Session::device_facts() const {
  return model_ == nullptr ? DeviceFacts() : model_->device().facts();
}
PrecisionChoice Session::precision() const {
  return model_ == nullptr ? PrecisionChoice::kAuto : model_->precision();
}
std::string_view Session::device_note() const {
  return model_ == nullptr ? std::string_view() : model_->device().note();
}
SessionStats Session::stats() const { return model_ == nullptr ? SessionStats() : model_->stats(); }

Result<std::vector<Tensor>> Session::Run(const std::vector<NamedView>& inputs,
                                         const RunOptions& options) const {
  return AtEdge<std::vector<Tensor>>([&]() -> absl::StatusOr<std::vector<Tensor>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    const CallScope scope(*model_, options.cancel);
    ASSIGN_OR_RETURN(const Prepared prepared, PrepareRun(*model_, inputs, options));
    return RunIntoNew(*model_, prepared, options);
  });
}

Result<std::vector<ModelValue>> Session::RunValues(const std::vector<NamedValue>& inputs,
                                                   const RunOptions& options) const {
  return AtEdge<std::vector<ModelValue>>([&]() -> absl::StatusOr<std::vector<ModelValue>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    const CallScope scope(*model_, options.cancel);
    return RunIntoNew(*model_, inputs, options);
  });
}

Result<void> Session::Run(const std::vector<NamedView>& inputs,
                          const std::vector<NamedView>& outputs, const RunOptions& options) const {
  return AtEdge<void>([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    const CallScope scope(*model_, options.cancel);
    ASSIGN_OR_RETURN(Prepared prepared, PrepareRun(*model_, inputs, options));
    ASSIGN_OR_RETURN(auto matched, MatchOutputs(*model_, prepared, outputs));
    if (prepared.pool == nullptr) {
      return RunPartsInto(*model_, Views(prepared.inputs), Views(matched), options);
    }
    ASSIGN_OR_RETURN(ExecutorPool::Lease executor, prepared.pool->Acquire());
    return RunOn(*executor, prepared.inputs, matched, options);
  });
}

Result<Binding> Session::Bind(const std::vector<NamedView>& inputs,
                              const std::vector<NamedView>& outputs) const {
  return AtEdge<Binding>([&]() -> absl::StatusOr<Binding> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    const CallScope scope(*model_);
    ASSIGN_OR_RETURN(Prepared prepared, PrepareRun(*model_, inputs, {}));
    ASSIGN_OR_RETURN(auto matched, MatchOutputs(*model_, prepared, outputs));
    auto impl = std::make_unique<Binding::Impl>();
    impl->model = model_;
    impl->views = Views(prepared.inputs);
    if (prepared.pool == nullptr) {
      impl->output_views = Views(matched);
      impl->is_padded = prepared.bucketed != nullptr;
      return Binding(std::move(impl));
    }
    ASSIGN_OR_RETURN(impl->values,
                     model_->reader().ValuesIn(prepared.inputs, /*callers_stream=*/nullptr));
    for (const TensorView* input : prepared.inputs) impl->inputs.push_back(input->data);
    for (const TensorView* output : matched) impl->outputs.push_back(output->data);
    ASSIGN_OR_RETURN(impl->executor, prepared.pool->MakeExecutor());
    return Binding(std::move(impl));
  });
}

Result<std::vector<ValueInfo>> Session::OutputsFor(const std::vector<NamedView>& inputs) const {
  return AtEdge<std::vector<ValueInfo>>([&]() -> absl::StatusOr<std::vector<ValueInfo>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    const CallScope scope(*model_);
    ASSIGN_OR_RETURN(Prepared prepared, PrepareRun(*model_, inputs, {}));
    return OutputsOf(*model_, prepared);
  });
}

Result<std::vector<CheckedPartition>> Session::CheckPartitions(
    const std::vector<NamedView>& inputs) const {
  return AtEdge<std::vector<CheckedPartition>>(
      [&]() -> absl::StatusOr<std::vector<CheckedPartition>> {
        RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
        const CallScope scope(*model_);
        ASSIGN_OR_RETURN(Prepared prepared, PrepareRun(*model_, inputs, {}));
        RETURN_IF_ERROR(CheckMemory(prepared.inputs, {}));
        if (prepared.pool == nullptr) {
          return absl::UnimplementedError(absl::StrCat(
              "the model ", prepared.bucketed == nullptr ? "runs in segments" : "is padded",
              ", and the partitions of such a run cannot be checked yet"));
        }
        return ReportPartitions(prepared.pool->program(), prepared.inputs, model_->device());
      });
}

Result<Tensor> Session::ToDevice(const TensorView& host) const {
  return AtEdge<Tensor>([&]() -> absl::StatusOr<Tensor> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    const CallScope scope(*model_);
    RETURN_IF_ERROR(CheckNumbers(host.dtype));
    if (host.device != DeviceRef{}) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected memory of the host, found memory of ", NameOf(host.device)));
    }
    ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(host.dtype, host.shape));
    RETURN_IF_ERROR(model_->device().device().MakeCurrent());
    RETURN_IF_ERROR(CheckPointer(host, "tensor", 0));
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory,
                     model_->device().device().Allocate(bytes, Space::kDevice));
    RETURN_IF_ERROR(model_->device().transfers().ToDevice(host.data, memory.get(), bytes));
    Tensor tensor;
    tensor.device_ = device_ref();
    tensor.dtype_ = host.dtype;
    tensor.shape_ = host.shape;
    std::byte* const data = memory.get();
    // The owner keeps the device alive until the memory is freed.
    tensor.data_ =
        std::shared_ptr<void>(data, [memory = std::move(memory), model = model_](void*) mutable {
          AbandonIfForked(model);
          AbandonIfForked(memory);
          memory.reset();
        });
    return tensor;
  });
}

Result<Tensor> Session::ToHost(const Tensor& tensor) const {
  return AtEdge<Tensor>([&]() -> absl::StatusOr<Tensor> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    const CallScope scope(*model_);
    RETURN_IF_ERROR(CheckNumbers(tensor.dtype()));
    RETURN_IF_ERROR(CheckPointer(tensor.view(), "tensor", 0));
    Result<Tensor> copy = Tensor::Allocate(tensor.dtype(), tensor.shape());
    RETURN_IF_ERROR(model_->device().device().MakeCurrent());
    if (!copy.ok()) return absl::ResourceExhaustedError(copy.error().message);
    RETURN_IF_ERROR(
        model_->device().transfers().ToHost(tensor.raw(), copy.value().raw(), tensor.bytes()));
    return std::move(copy).value();
  });
}

}  // namespace onnx_cudnn
