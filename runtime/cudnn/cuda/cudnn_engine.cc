#include "runtime/cudnn/cuda/cudnn_engine.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/run_times.h"
#include "runtime/base/status.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda/repacked.h"
#include "runtime/cudnn/cuda/cudnn_calls.h"
#include "runtime/cudnn/cuda/cudnn_plan.h"
#include "runtime/cudnn/cuda/handles.h"
#include "runtime/cudnn/cuda/lower.h"
#include "runtime/cudnn/cuda/saved_step.h"
#include "runtime/cudnn/cudnn_rules.h"
#include "runtime/plan/pattern_engine.h"

namespace onnx_cudnn {
namespace {

// The fastest plan is among the first 15 proposals; more Variants gain less than one percent
// (docs/measurements.md, 'Convolutions of ResNet-50 in cuDNN').
constexpr size_t kMostVariants = 16;

class CudnnStep final : public Step {
 public:
  CudnnStep(SavedStep saved, std::unique_ptr<CudnnPlan> plan, std::shared_ptr<CudnnHandles> handles)
      : saved_(std::move(saved)), plan_(std::move(plan)), handles_(std::move(handles)) {
    for (const PackedConstant& c : saved_.constants) {
      constants_.push_back(Repacked(c.constant, c.dims, c.format));
    }
    for (const PlanOperand& operand : saved_.operands) {
      if (operand.is_prefetched) prefetched_inputs_.push_back(operand.index);
    }
  }

  int64_t workspace_bytes() const override { return plan_->workspace_bytes(); }
  absl::Span<const Derived> constants() const override { return constants_; }
  absl::Span<const int> prefetched_inputs() const override { return prefetched_inputs_; }

  absl::Status Launch(const LaunchArgs& args) const override {
    const PhaseTimer timer(RunPhase::kLibrary);
    if (handles_ == nullptr) {
      return absl::FailedPreconditionError("cuDNN compiled it for a device that is not here");
    }
    std::vector<const void*> pointers;
    for (const PlanOperand& operand : saved_.operands) pointers.push_back(Bind(operand, args));
    const CudnnHandles::Lease handle = handles_->Take();
    auto* const stream = static_cast<cudaStream_t>(args.stream.native);
    RETURN_IF_ERROR(CudnnStatus(Cudnn()->cudnnSetStream(handle.get(), stream), "cudnnSetStream"));
    const absl::Status status = plan_->Execute(handle.get(), pointers, args.workspace);
    if (!absl::IsUnimplemented(status) && !absl::IsInternal(status)) return status;
    return absl::InternalError(
        absl::StrCat("cuDNN cannot run its plan of ", saved_.engine, ": ", status.message()));
  }

  std::string Save() const override {
    absl::StatusOr<std::string> plan = plan_->Save();
    if (!plan.ok()) return "";  // compiled again next time
    SavedStep saved = saved_;
    saved.plan = *std::move(plan);
    return ToText(saved);
  }

 private:
  static const void* Bind(const PlanOperand& operand, const LaunchArgs& args) {
    switch (operand.kind) {
      case CudnnTensor::Kind::kInput:
        return static_cast<const std::byte*>(args.in[operand.index]) + operand.offset;
      case CudnnTensor::Kind::kOutput:
        return args.out[operand.index];
      case CudnnTensor::Kind::kConstant:
        return args.constants[operand.index];
      default:
        return &operand.number;
    }
  }

  const SavedStep saved_;  // without the serialized plan
  const std::unique_ptr<CudnnPlan> plan_;
  const std::shared_ptr<CudnnHandles> handles_;
  std::vector<Derived> constants_;
  std::vector<int> prefetched_inputs_;
};

// The fused kernels of convolutions and products (cudnn_generated_fort_native_sm90 of cuDNN 9.19)
// start before the preceding launch has ended. They wait before they read the image, but they
// prefetch the operand of a fused operation, such as the other summand of an Add. This is
// undocumented; it shows as differing results if the preceding launch writes that operand. The mask
// of an attention, which is added in the same way, is assumed to be one too.
bool IsEarly(const CudnnGraph& graph, int tensor) {
  if (graph.tensors[tensor].kind != CudnnTensor::Kind::kInput) return false;
  using Kind = CudnnOperation::Kind;
  const auto is_anchor = [](const CudnnOperation& o) {
    return o.kind == Kind::kConvolution || o.kind == Kind::kTransposeConvolution ||
           o.kind == Kind::kProduct;
  };
  const auto reads_it = [&](const CudnnOperation& o) {
    return !is_anchor(o) && std::find(o.in.begin(), o.in.end(), tensor) != o.in.end();
  };
  const auto masks = [&](const CudnnOperation& o) {
    return o.kind == Kind::kAttention && o.in.back() == tensor;
  };
  const auto& all = graph.operations;
  if (std::any_of(all.begin(), all.end(), masks)) return true;
  return std::any_of(all.begin(), all.end(), is_anchor) &&
         std::any_of(all.begin(), all.end(), reads_it);
}

std::vector<PlanOperand> BoundOperands(const CudnnGraph& graph) {
  std::vector<PlanOperand> operands;
  for (const int i : OperandsOf(graph)) {
    const CudnnTensor& tensor = graph.tensors[i];
    operands.push_back(
        {i, tensor.kind, tensor.index, tensor.number, IsEarly(graph, i), tensor.offset});
  }
  return operands;
}

// A device for cuDNN: its properties as JSON, and what a saved Step names it.
struct DescribedDevice {
  std::string properties, name;
};

absl::StatusOr<DescribedDevice> Described(std::string properties) {
  ASSIGN_OR_RETURN(std::string name, DeviceOf(properties));
  return DescribedDevice{std::move(properties), std::move(name)};
}

class CudnnEngine final : public PatternEngine {
 public:
  // handles    nullptr: the device is not present
  // device     nullopt: it is read when it is needed
  // compilers  nullptr: plans are compiled in this process
  CudnnEngine(std::shared_ptr<CudnnHandles> handles, std::optional<DescribedDevice> device,
              std::unique_ptr<PlanCompilers> compilers)
      : PatternEngine("cudnn", CudnnPatterns()),
        handles_(std::move(handles)),
        compilers_(std::move(compilers)),
        version_(Cudnn()->cudnnGetVersion()),
        device_(std::move(device)) {}

  std::string version() const override {
    return absl::StrFormat("%d.%d.%d", version_ / 10000, version_ / 100 % 100, version_ % 100);
  }

  absl::StatusOr<std::vector<Variant>> Variants(const Candidate& candidate,
                                                const Target& target) const override {
    const absl::StatusOr<CudnnGraph> graph = Lower(candidate);
    if (absl::IsUnimplemented(graph.status())) return CudnnsChoice();
    RETURN_IF_ERROR(graph.status());
    absl::StatusOr<std::vector<std::string>> texts = List(*graph, target);
    if (absl::IsUnimplemented(texts.status())) return CudnnsChoice();
    RETURN_IF_ERROR(texts.status());
    std::vector<Variant> variants;
    for (std::string& text : *texts) variants.push_back({std::move(text)});
    return variants;
  }

  absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Variant& variant,
                                   const Target& target) const override {
    absl::StatusOr<std::shared_ptr<const Step>> step = MakeStep(candidate, variant, target);
    if (absl::IsUnimplemented(step.status())) {
      return Compiled::No(std::string(step.status().message()));
    }
    RETURN_IF_ERROR(step.status());
    return Compiled::As(*std::move(step));
  }

  absl::StatusOr<std::shared_ptr<const Step>> Load(std::string_view text, const Candidate&,
                                                   const Target&) const override {
    ASSIGN_OR_RETURN(SavedStep saved, ParseSavedStep(text));
    ASSIGN_OR_RETURN(const DescribedDevice device, OwnDevice());
    if (saved.version != version_ || saved.device != device.name) {
      return absl::FailedPreconditionError(
          absl::StrCat("a cuDNN step was saved for cuDNN ", saved.version, " on ", saved.device,
                       ", here is cuDNN ", version_, " on ", device.name));
    }
    std::vector<int> operands;
    for (const PlanOperand& operand : saved.operands) operands.push_back(operand.tensor);
    const std::string form = std::exchange(saved.plan, "");
    ASSIGN_OR_RETURN(std::unique_ptr<CudnnPlan> plan,
                     OnDevice([&](const PlanTarget& on) { return LoadPlan(form, operands, on); }));
    return std::make_shared<CudnnStep>(std::move(saved), std::move(plan), handles_);
  }

 private:
  // The Variant that leaves the choice to cuDNN, so that Compile reports why there is none.
  static std::vector<Variant> CudnnsChoice() { return {Variant{}}; }

  absl::StatusOr<DescribedDevice> OwnDevice() const {
    absl::MutexLock lock(mutex_);
    if (!device_.has_value()) {
      ASSIGN_OR_RETURN(std::string properties, DevicePropertiesOf(handles_->ordinal()));
      ASSIGN_OR_RETURN(device_, Described(std::move(properties)));
    }
    return *device_;
  }

  // Calls f(PlanTarget), with a handle for this thread if the device is present, outside of any
  // capture, because plans load code.
  template <typename F>
  auto OnDevice(F&& f) const -> decltype(f(PlanTarget())) {
    absl::ReaderMutexLock no_capture(CaptureMutex());
    if (handles_ == nullptr) {
      ASSIGN_OR_RETURN(const DescribedDevice device, OwnDevice());
      return f(PlanTarget{.properties = device.properties});
    }
    const absl::StatusOr<CudnnHandles::Lease> handle = handles_->TakeOrMake();
    const bool is_unusable = absl::IsFailedPrecondition(handle.status()) && !DeviceIsLost();
    if (is_unusable) return absl::UnimplementedError(handle.status().message());
    RETURN_IF_ERROR(handle.status());
    ASSIGN_OR_RETURN(const DescribedDevice device, OwnDevice());
    return f(PlanTarget{.handle = handle->get(), .properties = device.properties});
  }

  absl::StatusOr<std::vector<std::string>> List(const CudnnGraph& graph,
                                                const Target& target) const {
    return OnDevice(
        [&](const PlanTarget& on) { return ListPlans(graph, target.numerics, on, kMostVariants); });
  }

  // What another process does not compile is compiled in this one.
  absl::StatusOr<std::unique_ptr<CudnnPlan>> MakePlan(const CudnnGraph& graph,
                                                      const std::string& engine) const {
    if (compilers_ != nullptr) {
      const absl::StatusOr<std::string> saved = compilers_->Compile(graph, engine);
      if (!saved.ok() && !absl::IsUnavailable(saved.status())) return saved.status();
      if (saved.ok()) {
        absl::StatusOr<std::unique_ptr<CudnnPlan>> plan =
            OnDevice([&](const PlanTarget& on) { return LoadPlan(*saved, OperandsOf(graph), on); });
        if (plan.ok()) return plan;
      }
    }
    return OnDevice([&](const PlanTarget& on) { return BuildPlan(graph, engine, on); });
  }

  // Unimplemented means a refusal.
  absl::StatusOr<std::shared_ptr<const Step>> MakeStep(const Candidate& candidate,
                                                       const Variant& variant,
                                                       const Target& target) const {
    ASSIGN_OR_RETURN(const CudnnGraph graph, Lower(candidate));
    std::vector<std::string> engines = {variant.text};
    if (variant.text.empty()) {
      ASSIGN_OR_RETURN(engines, List(graph, target));
    }
    absl::Status refusal;
    for (const std::string& engine : engines) {
      absl::StatusOr<std::unique_ptr<CudnnPlan>> plan = MakePlan(graph, engine);
      if (plan.ok()) {
        ASSIGN_OR_RETURN(DescribedDevice device, OwnDevice());
        SavedStep saved{.version = version_,
                        .device = std::move(device.name),
                        .engine = engine,
                        .operands = BoundOperands(graph),
                        .constants = graph.constants};
        return std::make_shared<CudnnStep>(std::move(saved), *std::move(plan), handles_);
      }
      if (!absl::IsUnimplemented(plan.status())) return plan.status();
      refusal.Update(plan.status());
    }
    return refusal;
  }

  const std::shared_ptr<CudnnHandles> handles_;
  const std::unique_ptr<PlanCompilers> compilers_;
  const size_t version_;
  mutable absl::Mutex mutex_;
  mutable std::optional<DescribedDevice> device_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> MakeCudnnEngine(int ordinal, bool creates_handle,
                                                        std::unique_ptr<PlanCompilers> compilers) {
  RETURN_IF_ERROR(LoadCudnn());
  auto handles = std::make_unique<CudnnHandles>(ordinal);
  std::optional<DescribedDevice> device;
  if (creates_handle) {
    RETURN_IF_ERROR(handles->Create());
    ASSIGN_OR_RETURN(std::string properties, DevicePropertiesOf(ordinal));
    ASSIGN_OR_RETURN(device, Described(std::move(properties)));
  }
  return std::make_unique<CudnnEngine>(std::move(handles), std::move(device), std::move(compilers));
}

absl::StatusOr<std::unique_ptr<Engine>> MakeCudnnEngineFor(
    std::string properties, std::unique_ptr<PlanCompilers> compilers) {
  RETURN_IF_ERROR(LoadCudnn());
  ASSIGN_OR_RETURN(DescribedDevice device, Described(std::move(properties)));
  return std::make_unique<CudnnEngine>(nullptr, std::move(device), std::move(compilers));
}

}  // namespace onnx_cudnn
