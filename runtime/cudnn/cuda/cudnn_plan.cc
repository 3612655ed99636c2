#include "runtime/cudnn/cuda/cudnn_plan.h"

#include <cudnn_frontend.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/start_times.h"
#include "runtime/base/status.h"
#include "runtime/cuda/capture_mutex.h"
#include "runtime/cudnn/cuda/cudnn_calls.h"
#include "runtime/cudnn/cuda/engine_text.h"
#include "runtime/cudnn/cuda/frontend_graph.h"

namespace onnx_cudnn {
namespace {

namespace fe = ::cudnn_frontend;

// The reason in cuDNN's refusal, without the surrounding text.
absl::Status Refusal(std::string_view text) {
  constexpr std::string_view kMark = "Warning: ";  // precedes each reason, innermost first
  if (const size_t at = text.find(kMark); at != text.npos) text.remove_prefix(at + kMark.size());
  return absl::UnimplementedError(absl::StrCat("cuDNN: ", text.substr(0, text.find('\n'))));
}

// The result of `call` together with cuDNN's own status, since the frontend hides failures.
// Refusals are Unimplemented.
absl::Status StatusOf(fe::error_t error, std::string_view call) {
  RETURN_IF_ERROR(FrontendCalls::failure());
  if (error.is_good()) return absl::OkStatus();
  const std::string text(error.get_message());
  switch (error.get_code()) {
    case fe::error_code_t::INVALID_VALUE:  // this version has no such engine
    case fe::error_code_t::GRAPH_NOT_SUPPORTED:
    case fe::error_code_t::HEURISTIC_QUERY_FAILED:
    case fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED:
      return Refusal(text);
    default:
      if (FrontendCalls::was_refused()) return Refusal(text);
      return absl::InternalError(absl::StrCat(call, ": ", text));
  }
}

// Calls f() → fe::error_t, which may throw anything.
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

// The frontend's graph; a subclass, because its lists of engines and plans are protected.
class FrontendGraph : public fe::graph::Graph {
 public:
  // sm_version  90 for 9.0: operations ask the runtime for the device without it
  FrontendGraph(const CudnnGraph& graph, int sm_version) {
    set_sm_version(sm_version);
    set_intermediate_data_type(fe::DataType_t::FLOAT);
    set_compute_data_type(fe::DataType_t::FLOAT);
    set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);  // Executors keep their Steps alive
    AddOperations(graph, *this);
  }

  fe::graph::Execution_plan_list& list() { return plans; }
};

absl::StatusOr<std::shared_ptr<fe::DeviceProperties>> ParseProperties(std::string_view json) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  RETURN_IF_ERROR(Guarded("device properties", [&] {
    return properties->deserialize(std::vector<uint8_t>(json.begin(), json.end()));
  }));
  return properties;
}

// Builds the graph to the point where engines can be queried.
absl::StatusOr<std::unique_ptr<FrontendGraph>> MakeGraph(const CudnnGraph& graph,
                                                         const PlanTarget& target) {
  std::unique_ptr<FrontendGraph> made;
  std::shared_ptr<fe::DeviceProperties> properties;
  if (target.handle == nullptr) {
    ASSIGN_OR_RETURN(properties, ParseProperties(target.properties));
  }
  RETURN_IF_ERROR(Guarded("cuDNN graph", [&] {
    const int version = nlohmann::json::parse(target.properties).at("deviceVer").get<int>();
    made = std::make_unique<FrontendGraph>(graph, version / 10);
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
           o.kind == CudnnOperation::Kind::kProduct || o.kind == CudnnOperation::Kind::kAttention;
  });
}

// Whether `numerics` allows the numerical behaviour of an engine with these notes for `graph`.
// Without a product, tensor cores round nothing.
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
      // Sums other than the op's: their error grows with the tile.
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

// Appends the proposals of heuristic `mode` that `numerics` allows.
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
      if (knobs.contains(fe::KnobType_t::NOT_SET)) continue;  // cannot be requested again
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
  for (const int i : tensors) uids.push_back(i + 1);  // as numbered by AddOperations
  return uids;
}

class FrontendPlan final : public CudnnPlan {
 public:
  FrontendPlan(std::shared_ptr<fe::ExecutionPlan> plan, std::vector<int64_t> uids)
      : plan_(std::move(plan)), uids_(std::move(uids)) {}
  // Destroying the plan unloads code from the device.
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
  const StartScope scope("read the device's properties for cuDNN");
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
  const StartScope scope("list cuDNN plans");
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
  const StartScope scope("compile cuDNN plans");
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
  const StartScope scope("load cuDNN plans");
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
