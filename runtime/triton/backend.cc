// The functions that Triton looks up in this library.

#include <malloc.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "onnx_cudnn/log.h"
#include "onnx_cudnn/version.h"
#include "runtime/base/status.h"
#include "runtime/triton/errors.h"
#include "runtime/triton/instance.h"
#include "runtime/triton/model_version.h"
#include "runtime/triton/triton_api.h"

namespace onnx_cudnn::triton {
namespace {

// Of a GPU: one gathers rows while the other waits for its Run.
constexpr uint64_t kInstancesOnGpu = 2, kInstancesOnCpu = 1;

absl::Status CheckApi() {
  uint32_t major = 0, minor = 0;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_ApiVersion(&major, &minor)));
  if (major == kApiMajor && minor >= kApiMinor) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("the onnx_cudnn backend needs Triton's backend API ",
                                               kApiMajor, ".", kApiMinor, " or a later ", kApiMajor,
                                               ".x (Triton 23.12), found ", major, ".", minor));
}

// Keys of --backend-config that the server adds for every backend.
bool IsOfTheServer(std::string_view key) {
  return key == "auto-complete-config" || key == "backend-directory" ||
         key == "min-compute-capability" || key == "default-max-batch-size";
}

absl::Status ReadBackendConfig(TRITONBACKEND_Backend* backend, BackendState& state) {
  TRITONSERVER_Message* message = nullptr;
  const char* text = nullptr;
  size_t bytes = 0;
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_BackendConfig(backend, &message)));
  RETURN_IF_ERROR(StatusOf(TRITONSERVER_MessageSerializeToJson(message, &text, &bytes)));
  const Json config = Json::parse(std::string_view(text, bytes));
  const Json options = config.value("cmdline", Json::object());
  for (const auto& [key, value] : options.items()) {
    const auto given = value.get<std::string>();
    if (key == "default-max-batch-size") {
      if (!absl::SimpleAtoi(given, &state.default_max_batch) || state.default_max_batch < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("--backend-config default-max-batch-size: found ", given));
      }
    } else if (!IsOfTheServer(key)) {
      state.defaults[key] = given;
    }
  }
  return Annotate(CheckSettings(state.defaults), "--backend-config=onnx_cudnn");
}

void LogFromLibrary(LogSeverity severity, std::string_view message) {
  const TRITONSERVER_LogLevel level = severity == LogSeverity::kError     ? TRITONSERVER_LOG_ERROR
                                      : severity == LogSeverity::kWarning ? TRITONSERVER_LOG_WARN
                                                                          : TRITONSERVER_LOG_INFO;
  Log(level, std::string(message));
}

absl::Status Initialize(TRITONBACKEND_Backend* backend) {
  RETURN_IF_ERROR(CheckApi());
  auto state = std::make_unique<BackendState>();
  RETURN_IF_ERROR(ReadBackendConfig(backend, *state));
  RETURN_IF_ERROR(StatusOf(TRITONBACKEND_BackendSetState(backend, state.get())));
  state.release();  // Finalize deletes it
  SetLogSink(LogFromLibrary);
  Log(TRITONSERVER_LOG_INFO, absl::StrCat("backend onnx_cudnn, library ", Version().version));
  return absl::OkStatus();
}

// Makes the T of `owner`, which its Finalize deletes.
template <typename T, typename Owner>
absl::Status Attach(Owner* owner, TRITONSERVER_Error* (*set_state)(Owner*, void*)) {
  ASSIGN_OR_RETURN(std::unique_ptr<T> made, T::Create(owner));
  RETURN_IF_ERROR(StatusOf(set_state(owner, made.get())));
  made.release();
  return absl::OkStatus();
}

template <typename T, typename Owner>
absl::Status Delete(Owner* owner, TRITONSERVER_Error* (*state_of)(Owner*, void**)) {
  void* state = nullptr;
  RETURN_IF_ERROR(StatusOf(state_of(owner, &state)));
  delete static_cast<T*>(state);
  return absl::OkStatus();
}

}  // namespace
}  // namespace onnx_cudnn::triton

using namespace onnx_cudnn::triton;  // NOLINT: the functions below are C

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  return AtBorder([&] { return Initialize(backend); });
}

TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  return AtBorder([&] {
    onnx_cudnn::SetLogSink(nullptr);
    return Delete<BackendState>(backend, TRITONBACKEND_BackendState);
  });
}

TRITONSERVER_Error* TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend* /*backend*/,
                                                      TRITONBACKEND_BackendAttribute* attributes) {
  return AtBorder([&]() -> absl::Status {
    RETURN_IF_ERROR(StatusOf(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
        attributes, TRITONSERVER_INSTANCEGROUPKIND_GPU, kInstancesOnGpu, nullptr, 0)));
    RETURN_IF_ERROR(StatusOf(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
        attributes, TRITONSERVER_INSTANCEGROUPKIND_CPU, kInstancesOnCpu, nullptr, 0)));
    return StatusOf(
        TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(attributes, true));
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return AtBorder([&] { return Attach<ModelVersion>(model, TRITONBACKEND_ModelSetState); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return AtBorder([&] {
    const absl::Status deleted = Delete<ModelVersion>(model, TRITONBACKEND_ModelState);
    malloc_trim(0);  // threads that have ended keep what was freed in arenas of theirs
    return deleted;
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return AtBorder([&] { return Attach<Instance>(instance, TRITONBACKEND_ModelInstanceSetState); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return AtBorder([&] { return Delete<Instance>(instance, TRITONBACKEND_ModelInstanceState); });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       const uint32_t request_count) {
  void* state = nullptr;
  // An error leaves the requests with the server.
  if (TRITONSERVER_Error* error = TRITONBACKEND_ModelInstanceState(instance, &state)) return error;
  static_cast<Instance*>(state)->Execute(absl::MakeConstSpan(requests, request_count));
  return nullptr;
}
