#include "onnx_cudnn/session.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/base/exception.h"
#include "runtime/base/printable.h"
#include "runtime/base/status.h"
#include "runtime/import/onnx_loader.h"
#include "runtime/session/arguments.h"
#include "runtime/session/loaded_model.h"

namespace onnx_cudnn {
namespace {

ErrorCode CodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return ErrorCode::kInvalidArgument;
    case absl::StatusCode::kUnimplemented:
      return ErrorCode::kUnimplemented;
    case absl::StatusCode::kNotFound:
      return ErrorCode::kNotFound;
    case absl::StatusCode::kDataLoss:
      return ErrorCode::kDataLoss;
    case absl::StatusCode::kResourceExhausted:
      return ErrorCode::kResourceExhausted;
    case absl::StatusCode::kFailedPrecondition:
      return ErrorCode::kFailedPrecondition;
    case absl::StatusCode::kCancelled:
      return ErrorCode::kCancelled;
    default:
      return ErrorCode::kInternal;
  }
}

Error ToError(const absl::Status& status) {
  return {CodeOf(status.code()), Printable(status.message(), Escaped::kLines)};
}

// The Session's edge: what `body` returns as a Result<T>, whatever it throws as an Error.
template <typename T, typename Body>
Result<T> AtEdge(Body body) {
  try {
    auto answer = body();
    if constexpr (std::is_void_v<T>) {
      if (answer.ok()) return {};
      return ToError(answer);
    } else {
      if (answer.ok()) return *std::move(answer);
      return ToError(answer.status());
    }
  } catch (...) {
    return ToError(StatusOfException());
  }
}

// `state` is what a Session or a Binding holds.
template <typename State>
absl::Status CheckNotMovedFrom(const State& state, std::string_view what) {
  if (state != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "the %s was moved from: only the one that it was moved to can be used", what));
}

absl::Status CheckRunOptions(const LoadedModel& model, const RunOptions& options) {
  if (options.stream != nullptr && model.device_ref() == DeviceRef{}) {
    return absl::InvalidArgumentError(
        "run option stream: the CPU device has no streams, expected null");
  }
  if (options.cancel != nullptr && options.cancel->load()) {
    return absl::CancelledError("cancelled before the run");
  }
  return absl::OkStatus();
}

absl::Status RunOn(Executor& executor, const std::vector<const TensorView*>& inputs,
                   const std::vector<const TensorView*>& outputs, const RunOptions& options) {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const TensorView* input : inputs) in.push_back(input->data);
  for (const TensorView* output : outputs) out.push_back(output->data);
  return executor.Run(in, out, options.stream);
}

// A call's inputs, checked, with the pool of their Program.
struct Prepared {
  std::vector<const TensorView*> inputs;
  std::shared_ptr<ExecutorPool> pool;
};

absl::StatusOr<Prepared> Prepare(const LoadedModel& model, const std::vector<NamedView>& inputs,
                                 const RunOptions& options) {
  RETURN_IF_ERROR(CheckRunOptions(model, options));
  Prepared prepared;
  ASSIGN_OR_RETURN(prepared.inputs,
                   MatchArguments(inputs, model.inputs(), "input", model.device_ref()));
  ASSIGN_OR_RETURN(prepared.pool, model.Prepare(prepared.inputs, options.stream));
  RETURN_IF_ERROR(CheckRunOptions(model, options));
  return prepared;
}

absl::StatusOr<std::vector<const TensorView*>> MatchOutputs(const LoadedModel& model,
                                                            const Prepared& prepared,
                                                            const std::vector<NamedView>& outputs) {
  ASSIGN_OR_RETURN(auto matched, MatchArguments(outputs, OutputsOf(prepared.pool->program()),
                                                "output", model.device_ref()));
  RETURN_IF_ERROR(CheckMemory(prepared.inputs, matched));
  return matched;
}

absl::StatusOr<std::vector<Tensor>> AllocateOutputs(const Program& program) {
  std::vector<Tensor> tensors;
  for (const GraphOutput& output : program.graph.outputs()) {
    Result<Tensor> tensor = Tensor::Allocate(output.value->dtype(), output.value->dims());
    if (!tensor.ok()) return absl::ResourceExhaustedError(tensor.error().message);
    tensors.push_back(std::move(tensor).value());
  }
  return tensors;
}

absl::StatusOr<std::vector<Tensor>> RunIntoNew(const LoadedModel& model,
                                               const std::vector<NamedView>& inputs,
                                               const RunOptions& options) {
  ASSIGN_OR_RETURN(Prepared prepared, Prepare(model, inputs, options));
  RETURN_IF_ERROR(CheckMemory(prepared.inputs, {}));
  ASSIGN_OR_RETURN(std::vector<Tensor> tensors, AllocateOutputs(prepared.pool->program()));
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  std::vector<const TensorView*> outputs;
  for (const TensorView& view : views) outputs.push_back(&view);
  ASSIGN_OR_RETURN(ExecutorPool::Lease executor, prepared.pool->Acquire());
  RETURN_IF_ERROR(RunOn(*executor, prepared.inputs, outputs, options));
  return tensors;
}

absl::Status CheckNumbers(DType dtype) {
  if (BitsOf(dtype) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected numbers, found ", NameOf(dtype)));
}

std::shared_ptr<void> EmptyStrings(int64_t count) {
  return std::shared_ptr<std::string>(new std::string[count], std::default_delete<std::string[]>());
}

const std::vector<ValueInfo> kNoValues;

LoadOptions LoadOptionsOf(const SessionOptions& options) {
  return {.external_bytes = options.map_external_data ? ExternalBytes::kMap : ExternalBytes::kRead,
          .follow_hub_links = options.follow_hub_links};
}

template <typename LoadGraph>
absl::StatusOr<std::shared_ptr<const LoadedModel>> LoadWith(const SessionOptions& options,
                                                            ModelSource source, LoadGraph load) {
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(Graph graph, load());
  return LoadedModel::Create(std::move(graph), options,
                             absl::ToDoubleMilliseconds(absl::Now() - start),
                             {.source = std::move(source)});
}

}  // namespace

Result<Tensor> Tensor::Allocate(DType dtype, std::vector<int64_t> shape) {
  return AtEdge<Tensor>([&]() -> absl::StatusOr<Tensor> {
    if (BitsOf(dtype) == 0 && dtype != DType::kString) {
      return absl::InvalidArgumentError(absl::StrCat("no fixed size: dtype ", NameOf(dtype)));
    }
    ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, shape));
    constexpr std::align_val_t kAlignment{64};
    Tensor tensor;
    tensor.dtype_ = dtype;
    tensor.shape_ = std::move(shape);
    if (dtype == DType::kString) {
      tensor.data_ = EmptyStrings(tensor.elements());
      return tensor;
    }
    void* data = ::operator new(static_cast<size_t>(bytes), kAlignment, std::nothrow);
    if (data == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("out of host memory: %d bytes asked%s", bytes, LimitOfProcess()));
    }
    tensor.data_.reset(data, [](void* p) { ::operator delete(p, kAlignment); });
    return tensor;
  });
}

int64_t Tensor::elements() const { return dtype_ == DType::kUndefined ? 0 : ElementsOf(shape_); }
int64_t Tensor::bytes() const { return BytesOf(dtype_, elements()); }

std::string ToString(const ValueInfo& info) {
  Type type{.kind = Type::Kind::kTensor, .dtype = info.dtype, .ranked = info.ranked};
  for (const ValueInfo::Extent& extent : info.dims) {
    type.dims.push_back({.value = extent.value, .symbol = extent.symbol});
  }
  return absl::StrCat(info.name, " ", ToString(type));
}

struct Binding::Impl {
  std::shared_ptr<const LoadedModel> model;
  std::vector<TensorView> views;  // of the inputs
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  InputValues values;  // as they were when the Program was chosen
  std::unique_ptr<Executor> executor;

  absl::Status CheckValues(void* callers_stream) const {
    for (const auto& [i, bytes] : values.bytes) {
      ASSIGN_OR_RETURN(const std::string now, model->BytesIn(views[i], callers_stream));
      if (now == bytes) continue;
      return Changed(i, "its values decide shapes or branches and");
    }
    for (const auto& [i, strings] : values.strings) {
      const auto* now = static_cast<const std::string*>(inputs[i]);
      if (!std::equal(strings.begin(), strings.end(), now)) return Changed(i, "its strings");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Changed(int input, std::string_view what) const {
    return absl::FailedPreconditionError(
        absl::StrFormat("input \"%s\": %s are others than when it was bound: bind again",
                        model->inputs()[input].name, what));
  }
};

Binding::Binding(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Binding::Binding(Binding&&) noexcept = default;
Binding& Binding::operator=(Binding&&) noexcept = default;
Binding::~Binding() = default;

Result<void> Binding::Run(const RunOptions& options) {
  return AtEdge<void>([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckNotMovedFrom(impl_, "Binding"));
    RETURN_IF_ERROR(CheckRunOptions(*impl_->model, options));
    RETURN_IF_ERROR(impl_->CheckValues(options.stream));
    return impl_->executor->Run(impl_->inputs, impl_->outputs, options.stream);
  });
}

Result<std::vector<double>> Binding::TimeRuns(int runs) {
  return AtEdge<std::vector<double>>([&]() -> absl::StatusOr<std::vector<double>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(impl_, "Binding"));
    if (runs < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("TimeRuns: expected 0 runs or more, found ", runs));
    }
    RETURN_IF_ERROR(impl_->CheckValues(/*callers_stream=*/nullptr));
    return impl_->executor->Time(impl_->inputs, impl_->outputs, runs);
  });
}

std::string_view Binding::graph_note() const {
  return impl_ == nullptr ? std::string_view() : impl_->executor->capture_note();
}

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
  Session last(std::move(other));  // then what stood here, which ends with it
  std::swap(model_, last.model_);
  return *this;
}
Session::~Session() {
  if (model_ != nullptr) model_->StopTuning();
}

const std::vector<ValueInfo>& Session::inputs() const {
  return model_ == nullptr ? kNoValues : model_->inputs();
}
const std::vector<ValueInfo>& Session::outputs() const {
  return model_ == nullptr ? kNoValues : model_->outputs();
}
std::string_view Session::device() const {
  return model_ == nullptr ? std::string_view() : model_->device().name();
}
DeviceRef Session::device_ref() const {
  return model_ == nullptr ? DeviceRef() : model_->device_ref();
}
DeviceFacts Session::device_facts() const {
  return model_ == nullptr ? DeviceFacts() : model_->device_facts();
}
PrecisionChoice Session::precision() const {
  return model_ == nullptr ? PrecisionChoice::kAuto : model_->precision();
}
std::string_view Session::device_note() const {
  return model_ == nullptr ? std::string_view() : model_->device_note();
}
SessionStats Session::stats() const { return model_ == nullptr ? SessionStats() : model_->stats(); }

Result<std::vector<Tensor>> Session::Run(const std::vector<NamedView>& inputs,
                                         const RunOptions& options) const {
  return AtEdge<std::vector<Tensor>>([&]() -> absl::StatusOr<std::vector<Tensor>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    return RunIntoNew(*model_, inputs, options);
  });
}

Result<void> Session::Run(const std::vector<NamedView>& inputs,
                          const std::vector<NamedView>& outputs, const RunOptions& options) const {
  return AtEdge<void>([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    ASSIGN_OR_RETURN(Prepared prepared, Prepare(*model_, inputs, options));
    ASSIGN_OR_RETURN(auto matched, MatchOutputs(*model_, prepared, outputs));
    ASSIGN_OR_RETURN(ExecutorPool::Lease executor, prepared.pool->Acquire());
    return RunOn(*executor, prepared.inputs, matched, options);
  });
}

Result<Binding> Session::Bind(const std::vector<NamedView>& inputs,
                              const std::vector<NamedView>& outputs) const {
  return AtEdge<Binding>([&]() -> absl::StatusOr<Binding> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    ASSIGN_OR_RETURN(Prepared prepared, Prepare(*model_, inputs, {}));
    ASSIGN_OR_RETURN(auto matched, MatchOutputs(*model_, prepared, outputs));
    auto impl = std::make_unique<Binding::Impl>();
    impl->model = model_;
    ASSIGN_OR_RETURN(impl->values, model_->ValuesIn(prepared.inputs, /*callers_stream=*/nullptr));
    for (const TensorView* input : prepared.inputs) {
      impl->views.push_back(*input);
      impl->inputs.push_back(input->data);
    }
    for (const TensorView* output : matched) impl->outputs.push_back(output->data);
    ASSIGN_OR_RETURN(impl->executor, prepared.pool->MakeExecutor());
    return Binding(std::move(impl));
  });
}

Result<std::vector<ValueInfo>> Session::OutputsFor(const std::vector<NamedView>& inputs) const {
  return AtEdge<std::vector<ValueInfo>>([&]() -> absl::StatusOr<std::vector<ValueInfo>> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    ASSIGN_OR_RETURN(Prepared prepared, Prepare(*model_, inputs, {}));
    return OutputsOf(prepared.pool->program());
  });
}

Result<Tensor> Session::ToDevice(const TensorView& host) const {
  return AtEdge<Tensor>([&]() -> absl::StatusOr<Tensor> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    RETURN_IF_ERROR(CheckNumbers(host.dtype));
    if (host.device != DeviceRef{}) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected memory of the host, found memory of ", NameOf(host.device)));
    }
    ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(host.dtype, host.shape));
    RETURN_IF_ERROR(CheckPointer(host, "tensor", 0));
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory,
                     model_->device().Allocate(bytes, Space::kDevice));
    RETURN_IF_ERROR(model_->transfers().ToDevice(host.data, memory.get(), bytes));
    Tensor tensor;
    tensor.device_ = device_ref();
    tensor.dtype_ = host.dtype;
    tensor.shape_ = host.shape;
    std::byte* const data = memory.get();
    // The device goes after its memory.
    tensor.data_ = std::shared_ptr<void>(
        data, [memory = std::move(memory), model = model_](void*) mutable { memory.reset(); });
    return tensor;
  });
}

Result<Tensor> Session::ToHost(const Tensor& tensor) const {
  return AtEdge<Tensor>([&]() -> absl::StatusOr<Tensor> {
    RETURN_IF_ERROR(CheckNotMovedFrom(model_, "Session"));
    RETURN_IF_ERROR(CheckNumbers(tensor.dtype()));
    RETURN_IF_ERROR(CheckPointer(tensor.view(), "tensor", 0));
    Result<Tensor> copy = Tensor::Allocate(tensor.dtype(), tensor.shape());
    if (!copy.ok()) return absl::ResourceExhaustedError(copy.error().message);
    RETURN_IF_ERROR(model_->transfers().ToHost(tensor.raw(), copy.value().raw(), tensor.bytes()));
    return std::move(copy).value();
  });
}

}  // namespace onnx_cudnn
