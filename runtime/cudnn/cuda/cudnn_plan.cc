#include "runtime/cudnn/cuda/cudnn_plan.h"

#include <cudnn_frontend.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cudnn/cuda/cudnn_calls.h"
#include "runtime/cudnn/cuda/engine_text.h"

namespace onnx_cudnn {
namespace {

namespace fe = ::cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

// What cuDNN says why it refused, without the pages around it.
absl::Status Refusal(std::string_view text) {
  constexpr std::string_view kMark = "Warning: ";  // before each reason, the innermost first
  if (const size_t at = text.find(kMark); at != text.npos) text.remove_prefix(at + kMark.size());
  return absl::UnimplementedError(absl::StrCat("cuDNN: ", text.substr(0, text.find('\n'))));
}

// What `call` answered and what cuDNN answered below it: the frontend swallows failures. Refusals
// are Unimplemented.
absl::Status StatusOf(fe::error_t error, std::string_view call) {
  RETURN_IF_ERROR(FrontendCalls::failure());
  if (error.is_good()) return absl::OkStatus();
  const std::string text(error.get_message());
  switch (error.get_code()) {
    case fe::error_code_t::INVALID_VALUE:  // no such engine in this version
    case fe::error_code_t::GRAPH_NOT_SUPPORTED:
    case fe::error_code_t::HEURISTIC_QUERY_FAILED:
    case fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED:
      return Refusal(text);
    default:
      if (FrontendCalls::was_refused()) return Refusal(text);
      return absl::InternalError(absl::StrCat(call, ": ", text));
  }
}

// Calls f() → fe::error_t, which throws what it likes.
template <typename F>
absl::Status Guarded(std::string_view call, F&& f) {
  FrontendCalls::Forget();
  try {
    return StatusOf(f(), call);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(call, ": out of host memory"));
  } catch (const std::exception& e) {
    RETURN_IF_ERROR(FrontendCalls::failure());
    if (FrontendCalls::was_refused()) return Refusal(e.what());
    return absl::InternalError(absl::StrCat(call, ": ", e.what()));
  }
}

fe::DataType_t DataTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return fe::DataType_t::HALF;
    case DType::kBF16:
      return fe::DataType_t::BFLOAT16;
    case DType::kBool:
      return fe::DataType_t::BOOLEAN;
    default:
      return fe::DataType_t::FLOAT;
  }
}

fe::PointwiseMode_t ModeOf(PointwiseMode mode) {
  switch (mode) {
#define POINTWISE_MODE(name, frontend) \
  case PointwiseMode::name:            \
    return fe::PointwiseMode_t::frontend;
#include "runtime/cudnn/cuda/pointwise_modes.inc"
#undef POINTWISE_MODE
  }
  return fe::PointwiseMode_t::NOT_SET;
}

fe::ReductionMode_t ModeOf(CudnnOperation::Reduction reduction) {
  switch (reduction) {
    case CudnnOperation::Reduction::kSum:
      return fe::ReductionMode_t::ADD;
    case CudnnOperation::Reduction::kMax:
      return fe::ReductionMode_t::MAX;
    case CudnnOperation::Reduction::kMin:
      return fe::ReductionMode_t::MIN;
  }
  return fe::ReductionMode_t::NOT_SET;
}

// The frontend's graph; its lists of engines and plans are open to us only so.
class FrontendGraph : public fe::graph::Graph {
 public:
  explicit FrontendGraph(const CudnnGraph& graph) {
    set_io_data_type(DataTypeOf(graph.dtype));
    set_intermediate_data_type(fe::DataType_t::FLOAT);
    set_compute_data_type(fe::DataType_t::FLOAT);
    set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);  // Executors keep their Steps alive
    tensors_.resize(graph.tensors.size());
    for (size_t i = 0; i < graph.tensors.size(); ++i) AddOperand(graph.tensors[i], i);
    for (const CudnnOperation& operation : graph.operations) Add(graph, operation);
  }

  fe::graph::Execution_plan_list& list() { return plans; }

 private:
  void Describe(const CudnnTensor& tensor, size_t i, fe::graph::Tensor_attributes& attributes) {
    attributes.set_uid(static_cast<int64_t>(i) + 1)
        .set_name(absl::StrCat("t", i))
        .set_dim(tensor.dims)
        .set_stride(tensor.strides)
        .set_data_type(DataTypeOf(tensor.dtype));
  }

  void AddOperand(const CudnnTensor& tensor, size_t i) {
    if (tensor.kind == CudnnTensor::Kind::kVirtual || tensor.kind == CudnnTensor::Kind::kOutput) {
      return;  // an operation makes it
    }
    fe::graph::Tensor_attributes attributes;
    Describe(tensor, i, attributes);
    attributes.set_is_pass_by_value(tensor.kind == CudnnTensor::Kind::kNumber);
    tensors_[i] = Graph::tensor(attributes);
  }

  Tensor Operand(const CudnnOperation& operation, size_t i) const {
    return i < operation.in.size() ? tensors_[operation.in[i]] : nullptr;
  }

  void Add(const CudnnGraph& graph, const CudnnOperation& operation) {
    const Tensor y = Make(operation);
    const CudnnTensor& tensor = graph.tensors[operation.out];
    Describe(tensor, operation.out, *y);
    y->set_output(tensor.kind == CudnnTensor::Kind::kOutput);
    tensors_[operation.out] = y;
  }

  Tensor Make(const CudnnOperation& operation) {
    const Tensor x = Operand(operation, 0), second = Operand(operation, 1);
    switch (operation.kind) {
      case CudnnOperation::Kind::kConvolution:
        return conv_fprop(x, second, Windowed<fe::graph::Conv_fprop_attributes>(operation.window));
      case CudnnOperation::Kind::kTransposeConvolution:
        return conv_dgrad(x, second, Windowed<fe::graph::Conv_dgrad_attributes>(operation.window));
      case CudnnOperation::Kind::kProduct:
        return matmul(x, second, fe::graph::Matmul_attributes());
      case CudnnOperation::Kind::kPointwise:
        return MakePointwise(operation);
      case CudnnOperation::Kind::kReduction:
        return reduction(x, MakeReduction(operation));
      case CudnnOperation::Kind::kMaxPool:
      case CudnnOperation::Kind::kAveragePool:
        return resample(x, MakePooling(operation))[0];
      case CudnnOperation::Kind::kLayerNorm:
        return MakeLayerNorm(operation);
      case CudnnOperation::Kind::kRmsNorm:
        return MakeRmsNorm(operation);
    }
    return nullptr;
  }

  template <typename Attributes>
  static Attributes Windowed(const CudnnWindow& window) {
    return Attributes()
        .set_pre_padding(window.pad_before)
        .set_post_padding(window.pad_behind)
        .set_stride(window.stride)
        .set_dilation(window.dilation);
  }

  Tensor MakePointwise(const CudnnOperation& operation) {
    fe::graph::Pointwise_attributes attributes;
    attributes.set_mode(ModeOf(operation.mode));
    if (operation.mode == PointwiseMode::kRelu) {
      attributes.set_relu_lower_clip(static_cast<float>(operation.lower));
      attributes.set_relu_lower_clip_slope(static_cast<float>(operation.slope));
      if (operation.upper < std::numeric_limits<double>::infinity()) {
        attributes.set_relu_upper_clip(static_cast<float>(operation.upper));
      }
    }
    if (operation.mode == PointwiseMode::kSwish) {
      attributes.set_swish_beta(static_cast<float>(operation.beta));
    }
    const Tensor a = Operand(operation, 0), b = Operand(operation, 1), c = Operand(operation, 2);
    if (c != nullptr) return pointwise(a, b, c, attributes);
    return b != nullptr ? pointwise(a, b, attributes) : pointwise(a, attributes);
  }

  static fe::graph::Reduction_attributes MakeReduction(const CudnnOperation& operation) {
    // Earlier versions have no such request; their engines say by a note when they are not.
    const bool has_request = fe::detail::get_backend_version() >= 91100;
    return fe::graph::Reduction_attributes()
        .set_mode(ModeOf(operation.reduction))
        .set_is_deterministic(has_request);
  }

  static fe::graph::Resample_attributes MakePooling(const CudnnOperation& operation) {
    const bool is_max = operation.kind == CudnnOperation::Kind::kMaxPool;
    const fe::ResampleMode_t average = operation.counts_padding
                                           ? fe::ResampleMode_t::AVGPOOL_INCLUDE_PADDING
                                           : fe::ResampleMode_t::AVGPOOL_EXCLUDE_PADDING;
    return fe::graph::Resample_attributes()
        .set_resampling_mode(is_max ? fe::ResampleMode_t::MAXPOOL : average)
        .set_padding_mode(is_max ? fe::PaddingMode_t::NEG_INF_PAD : fe::PaddingMode_t::ZERO_PAD)
        .set_window(operation.window.kernel)
        .set_stride(operation.window.stride)
        .set_pre_padding(operation.window.pad_before)
        .set_post_padding(operation.window.pad_behind)
        .set_generate_index(false);
  }

  Tensor MakeLayerNorm(const CudnnOperation& operation) {
    Tensor epsilon = Operand(operation, 2);
    fe::graph::Layernorm_attributes attributes;
    attributes.set_forward_phase(fe::NormFwdPhase_t::INFERENCE).set_epsilon(epsilon);
    return layernorm(Operand(operation, 0), Operand(operation, 1), Operand(operation, 3),
                     attributes)[0];
  }

  Tensor MakeRmsNorm(const CudnnOperation& operation) {
    Tensor epsilon = Operand(operation, 2);
    fe::graph::Rmsnorm_attributes attributes;
    attributes.set_forward_phase(fe::NormFwdPhase_t::INFERENCE).set_epsilon(epsilon);
    return rmsnorm(Operand(operation, 0), Operand(operation, 1), attributes)[0];
  }

  std::vector<Tensor> tensors_;
};

absl::StatusOr<std::shared_ptr<fe::DeviceProperties>> ParseProperties(std::string_view json) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  RETURN_IF_ERROR(Guarded("device properties", [&] {
    return properties->deserialize(std::vector<uint8_t>(json.begin(), json.end()));
  }));
  return properties;
}

// The graph up to where engines can be asked for.
absl::StatusOr<std::unique_ptr<FrontendGraph>> MakeGraph(const CudnnGraph& graph,
                                                         const PlanTarget& target) {
  std::unique_ptr<FrontendGraph> made;
  std::shared_ptr<fe::DeviceProperties> properties;
  if (target.handle == nullptr) {
    ASSIGN_OR_RETURN(properties, ParseProperties(target.properties));
  }
  RETURN_IF_ERROR(Guarded("cuDNN graph", [&] {
    made = std::make_unique<FrontendGraph>(graph);
    if (properties != nullptr) made->set_device_properties(properties);
    fe::error_t error = made->validate();
    if (error.is_good()) error = made->build_operation_graph(target.handle);
    return error;
  }));
  return made;
}

bool Multiplies(const CudnnGraph& graph) {
  return std::any_of(graph.operations.begin(), graph.operations.end(), [](const auto& o) {
    return o.kind == CudnnOperation::Kind::kConvolution ||
           o.kind == CudnnOperation::Kind::kTransposeConvolution ||
           o.kind == CudnnOperation::Kind::kProduct;
  });
}

// Whether `numerics` allows what an engine of these notes does to `graph`. Without a product there
// is nothing that tensor cores would round.
bool Allows(const Numerics& numerics, const CudnnGraph& graph,
            const std::vector<fe::NumericalNote_t>& notes) {
  const bool multiplies = Multiplies(graph), is_f32 = graph.dtype == DType::kF32;
  for (const fe::NumericalNote_t note : notes) {
    switch (note) {
      case fe::NumericalNote_t::TENSOR_CORE:
        if (multiplies && is_f32 && !numerics.tf32) return false;
        break;
      case fe::NumericalNote_t::DOWN_CONVERT_INPUTS:
        if (multiplies && !(is_f32 && numerics.tf32)) return false;
        break;
      case fe::NumericalNote_t::NONDETERMINISTIC:
        if (!numerics.nondeterminism) return false;
        break;
      // Other sums than the op's: their error grows with the tile.
      case fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION:
      case fe::NumericalNote_t::FFT:
      case fe::NumericalNote_t::WINOGRAD:
      case fe::NumericalNote_t::WINOGRAD_TILE_4x4:
      case fe::NumericalNote_t::WINOGRAD_TILE_6x6:
      case fe::NumericalNote_t::WINOGRAD_TILE_13x13:
        return false;
      case fe::NumericalNote_t::NOT_SET:
      case fe::NumericalNote_t::STRICT_NAN_PROP:
        break;
    }
  }
  return true;
}

using Knobs = std::unordered_map<fe::KnobType_t, int64_t>;

// Appends what the heuristic `mode` offers and `numerics` allows.
absl::Status AppendChoices(const CudnnGraph& graph, const Numerics& numerics, fe::HeurMode_t mode,
                           const PlanTarget& target, std::vector<std::string>& texts) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FrontendGraph> made, MakeGraph(graph, target));
  return Guarded("cuDNN heuristics", [&] {
    fe::error_t error = made->create_execution_plans({mode});
    if (error.is_bad()) return error;
    const auto& notes = made->list().numeric_notes;
    for (size_t i = 0; i < notes.size(); ++i) {
      if (!Allows(numerics, graph, notes[i])) continue;
      EngineChoice choice;
      Knobs knobs;
      error = made->get_engine_and_knobs_at_index(static_cast<int64_t>(i), choice.engine, knobs);
      if (error.is_bad()) return error;
      if (knobs.contains(fe::KnobType_t::NOT_SET)) continue;  // cannot be asked for again
      for (const auto& [type, value] : knobs) choice.knobs[static_cast<int64_t>(type)] = value;
      std::string text = ToText(choice);
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) {
        texts.push_back(std::move(text));
      }
    }
    return error;
  });
}

std::vector<int64_t> UidsOf(absl::Span<const int> tensors) {
  std::vector<int64_t> uids;
  for (const int i : tensors) uids.push_back(i + 1);  // as Describe numbers them
  return uids;
}

class FrontendPlan final : public CudnnPlan {
 public:
  FrontendPlan(std::shared_ptr<fe::ExecutionPlan> plan, std::vector<int64_t> uids)
      : plan_(std::move(plan)), uids_(std::move(uids)) {}
  // With the plan goes code that was loaded on the device.
  ~FrontendPlan() override {
    absl::ReaderMutexLock no_capture(CaptureMutex());
    plan_.reset();
  }

  int64_t workspace_bytes() const override { return plan_->getWorkspaceSize(); }

  absl::Status Execute(cudnnHandle_t handle, absl::Span<const void* const> operands,
                       void* workspace) const override {
    return Guarded("cuDNN execution", [&] {
      return fe::detail::execute(handle, plan_.get(), const_cast<void* const*>(operands.data()),
                                 uids_, workspace);
    });
  }

  absl::StatusOr<std::string> Save() const override {
    std::string saved;
    RETURN_IF_ERROR(Guarded("saving a cuDNN plan", [&] {
      saved = plan_->getJsonRepresentation();
      return fe::error_t();
    }));
    return saved;
  }

 private:
  std::shared_ptr<fe::ExecutionPlan> plan_;
  const std::vector<int64_t> uids_;  // of the operands
};

}  // namespace

absl::StatusOr<std::string> DevicePropertiesOf(int ordinal) {
  std::vector<uint8_t> bytes;
  RETURN_IF_ERROR(Guarded("device properties", [&] {
    fe::DeviceProperties properties;
    fe::error_t error = properties.set_device_id(ordinal).build();
    if (error.is_good()) error = properties.serialize(bytes);
    return error;
  }));
  return std::string(bytes.begin(), bytes.end());
}

absl::StatusOr<std::string> DeviceOf(std::string_view properties) {
  std::string device;
  RETURN_IF_ERROR(Guarded("device properties", [&] {
    const nlohmann::json json = nlohmann::json::parse(properties);
    device = absl::StrCat(json.at("deviceName").get<std::string>(), ", ",
                          json.at("deviceVer").get<int>(), ", ",
                          json.at("multiProcessorCount").get<int>(), " multiprocessors");
    return fe::error_t();
  }));
  return device;
}

absl::StatusOr<std::vector<std::string>> ListPlans(const CudnnGraph& graph,
                                                   const Numerics& numerics,
                                                   const PlanTarget& target, size_t most) {
  std::vector<std::string> texts;
  absl::Status status;
  for (const fe::HeurMode_t mode :
       {fe::HeurMode_t::A, fe::HeurMode_t::B, fe::HeurMode_t::FALLBACK}) {
    if (mode == fe::HeurMode_t::FALLBACK && !texts.empty()) break;
    if (texts.size() >= most) break;
    const absl::Status asked = AppendChoices(graph, numerics, mode, target, texts);
    if (!asked.ok() && !absl::IsUnimplemented(asked)) return asked;
    status.Update(asked);
  }
  if (texts.size() > most) texts.resize(most);
  if (!texts.empty()) return texts;
  if (!status.ok()) return status;
  return absl::UnimplementedError("every engine of cuDNN for it breaks the precision asked for");
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> BuildPlan(const CudnnGraph& graph,
                                                     std::string_view engine,
                                                     const PlanTarget& target) {
  ASSIGN_OR_RETURN(const EngineChoice choice, ParseEngineChoice(engine));
  Knobs knobs;
  for (const auto& [type, value] : choice.knobs) knobs[static_cast<fe::KnobType_t>(type)] = value;
  ASSIGN_OR_RETURN(const std::unique_ptr<FrontendGraph> made, MakeGraph(graph, target));
  RETURN_IF_ERROR(Guarded("cuDNN plan", [&] {
    fe::error_t error = made->create_execution_plan(choice.engine, knobs);
    if (error.is_good()) error = made->build_plan_at_index(0);
    return error;
  }));
  return std::make_unique<FrontendPlan>(made->list().execution_plans[0], UidsOf(OperandsOf(graph)));
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> LoadPlan(std::string_view saved,
                                                    absl::Span<const int> operands,
                                                    const PlanTarget& target) {
  std::shared_ptr<fe::DeviceProperties> properties;
  if (target.handle == nullptr) {
    ASSIGN_OR_RETURN(properties, ParseProperties(target.properties));
  }
  std::shared_ptr<fe::ExecutionPlan> plan;
  const absl::Status status = Guarded("loading a cuDNN plan", [&] {
    const auto retention = fe::CudaGraphRetention_t::NONE;
    return properties == nullptr ? fe::detail::create_cudnn_execution_plan(plan, std::string(saved),
                                                                           target.handle, retention)
                                 : fe::detail::create_cudnn_execution_plan(plan, std::string(saved),
                                                                           properties, retention);
  });
  if (absl::IsUnimplemented(status)) return absl::FailedPreconditionError(status.message());
  RETURN_IF_ERROR(status);
  return std::make_unique<FrontendPlan>(std::move(plan), UidsOf(operands));
}

}  // namespace onnx_cudnn
