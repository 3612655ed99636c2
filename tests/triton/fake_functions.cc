// What the server's functions do.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "tests/triton/fake_objects.h"

using namespace onnx_cudnn::triton;  // NOLINT: the functions below are C

namespace {
std::mutex log_mutex;
std::vector<std::string> log_lines;  // guarded by log_mutex
}  // namespace

std::vector<std::string> onnx_cudnn::triton::FakeLog() {
  const std::scoped_lock lock(log_mutex);
  return log_lines;
}

extern "C" {

TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* message) {
  ++fake_counts.errors;
  return new TRITONSERVER_Error{code, message};
}
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) {
  --fake_counts.errors;
  delete error;
}
TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) { return error->code; }
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) { return error->message.c_str(); }
TRITONSERVER_Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level, const char*, const int,
                                            const char* message) {
  EXPECT_NE(level, TRITONSERVER_LOG_ERROR) << message;
  const std::scoped_lock lock(log_mutex);
  log_lines.emplace_back(message);
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message,
                                                              const char* text, size_t bytes) {
  ++fake_counts.messages;
  *message = new TRITONSERVER_Message{std::string(text, bytes)};
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message,
                                                        const char** text, size_t* bytes) {
  *text = message->text.data();
  *bytes = message->text.size();
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
  --fake_counts.messages;
  delete message;
  return nullptr;
}

TRITONSERVER_Parameter* TRITONSERVER_ParameterNew(const char* name,
                                                  const TRITONSERVER_ParameterType,
                                                  const void* value) {
  return new TRITONSERVER_Parameter{name, static_cast<const char*>(value)};
}
void TRITONSERVER_ParameterDelete(TRITONSERVER_Parameter* parameter) { delete parameter; }
TRITONSERVER_Error* TRITONSERVER_MetricFamilyNew(TRITONSERVER_MetricFamily** family,
                                                 const TRITONSERVER_MetricKind kind,
                                                 const char* name, const char*) {
  ++fake_counts.metrics;
  *family = new TRITONSERVER_MetricFamily{name, kind};
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily* family) {
  --fake_counts.metrics;
  delete family;
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricNew(TRITONSERVER_Metric** metric,
                                           TRITONSERVER_MetricFamily* family,
                                           const TRITONSERVER_Parameter** labels,
                                           const uint64_t label_count) {
  ++fake_counts.metrics;
  std::string key = family->name + "{";
  for (uint64_t i = 0; i < label_count; ++i) key += (i == 0 ? "" : ",") + labels[i]->value;
  *metric = new TRITONSERVER_Metric{family, key + "}"};
  fake_counts.values[(*metric)->key] = 0;
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricDelete(TRITONSERVER_Metric* metric) {
  --fake_counts.metrics;
  delete metric;
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricIncrement(TRITONSERVER_Metric* metric, double by) {
  EXPECT_EQ(metric->family->kind, TRITONSERVER_METRIC_KIND_COUNTER);
  fake_counts.values[metric->key] += by;
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MetricSet(TRITONSERVER_Metric* metric, double value) {
  EXPECT_EQ(metric->family->kind, TRITONSERVER_METRIC_KIND_GAUGE);
  fake_counts.values[metric->key] = value;
  return nullptr;
}

// A function that gives a member, and those of a state.
#define GIVES(Kind, Name, Type, member)                                                   \
  TRITONSERVER_Error* TRITONBACKEND_##Kind##Name(TRITONBACKEND_##Kind* of, Type* value) { \
    *value = of->member;                                                                  \
    return nullptr;                                                                       \
  }
#define HAS_STATE(Kind)                                                                       \
  GIVES(Kind, State, void*, state)                                                            \
  TRITONSERVER_Error* TRITONBACKEND_##Kind##SetState(TRITONBACKEND_##Kind* of, void* state) { \
    of->state = state;                                                                        \
    return nullptr;                                                                           \
  }

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) {
  *major = kApiMajor;
  *minor = fake_api_minor;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend* backend,
                                                TRITONSERVER_Message** config) {
  *config = &backend->config;
  return nullptr;
}
HAS_STATE(Backend)
TRITONSERVER_Error* TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
    TRITONBACKEND_BackendAttribute* attributes, const TRITONSERVER_InstanceGroupKind,
    const uint64_t, const uint64_t*, const uint64_t) {
  ++attributes->groups;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(
    TRITONBACKEND_BackendAttribute* attributes, bool enabled) {
  attributes->is_parallel = enabled;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model*, const char** name) {
  *name = "m";
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model*, uint64_t* version) {
  *version = 1;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model,
                                                  TRITONBACKEND_ArtifactType* type,
                                                  const char** location) {
  *type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->folder.c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model, const uint32_t,
                                              TRITONSERVER_Message** config) {
  const std::string text = model->config.dump();
  return TRITONSERVER_MessageNewFromSerializedJson(config, text.data(), text.size());
}
GIVES(Model, AutoCompleteConfig, bool, completes)
TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model, const uint32_t,
                                                 TRITONSERVER_Message* config) {
  model->config = nlohmann::json::parse(config->text);
  return nullptr;
}
GIVES(Model, Backend, TRITONBACKEND_Backend*, backend)
HAS_STATE(Model)

GIVES(ModelInstance, Kind, TRITONSERVER_InstanceGroupKind, kind)
GIVES(ModelInstance, DeviceId, int32_t, device)
GIVES(ModelInstance, Model, TRITONBACKEND_Model*, model)
HAS_STATE(ModelInstance)
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request* request, const bool success,
    const uint64_t begin, const uint64_t compute_begin, const uint64_t compute_end,
    const uint64_t end) {
  EXPECT_LE(begin, compute_begin);
  EXPECT_LE(compute_begin, compute_end);
  EXPECT_LE(compute_end, end);
  EXPECT_EQ(request->releases, 0);
  ++(success ? request->successes : request->failures);
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, const uint64_t batch_size, const uint64_t,
    const uint64_t, const uint64_t, const uint64_t) {
  instance->batches.push_back(batch_size);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request, const char* name,
                                               TRITONBACKEND_Input** input) {
  const auto found = request->inputs.find(name);
  if (found == request->inputs.end()) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG,
                                 (std::string("no input ") + name).c_str());
  }
  *input = &found->second;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request,
                                                     uint32_t* count) {
  *count = static_cast<uint32_t>(request->wanted.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request,
                                                    const uint32_t index, const char** name) {
  *name = request->wanted[index].c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request,
                                                     bool* is_cancelled) {
  *is_cancelled = request->is_cancelled;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request, uint32_t) {
  ++request->releases;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char**,
                                                  TRITONSERVER_DataType* type,
                                                  const int64_t** shape, uint32_t* rank,
                                                  uint64_t* bytes, uint32_t* buffer_count) {
  *type = input->type;
  *shape = input->shape.data();
  *rank = static_cast<uint32_t>(input->shape.size());
  *bytes = 0;
  for (const TRITONBACKEND_Input::Piece& piece : input->pieces) *bytes += piece.bytes;
  *buffer_count = static_cast<uint32_t>(input->pieces.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, const uint32_t index,
                                              const void** buffer, uint64_t* bytes,
                                              TRITONSERVER_MemoryType* memory, int64_t* memory_id) {
  const TRITONBACKEND_Input::Piece& piece = input->pieces[index];
  *buffer = piece.data;
  *bytes = piece.bytes;
  *memory = piece.memory;
  *memory_id = piece.id;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                              TRITONBACKEND_Request* request) {
  *response = new TRITONBACKEND_Response{request};
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response,
                                                 TRITONBACKEND_Output** output, const char* name,
                                                 const TRITONSERVER_DataType type,
                                                 const int64_t* shape, const uint32_t rank) {
  auto& outputs = response->request->outputs;
  for (const TRITONBACKEND_Output& other : outputs) EXPECT_NE(other.name, name);
  outputs.push_back({.name = name, .type = type, .shape = {shape, shape + rank}, .own = {}});
  // Tells OutputBuffer of the request.
  outputs.back().data = response->request->place;
  if (response->request->memory == TRITONSERVER_MEMORY_GPU) outputs.back().bytes = 1;
  *output = &outputs.back();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** buffer,
                                               const uint64_t bytes,
                                               TRITONSERVER_MemoryType* memory,
                                               int64_t* memory_id) {
  *memory = output->bytes == 1 ? TRITONSERVER_MEMORY_GPU : TRITONSERVER_MEMORY_CPU;
  *memory_id = 0;
  output->bytes = bytes;
  if (output->data == nullptr) {
    output->own.resize(bytes + 1);
    output->data = output->own.data();
  }
  *buffer = output->data;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response, const uint32_t,
                                               TRITONSERVER_Error* error) {
  ++response->request->responses;
  if (error != nullptr) response->request->error = *error;
  delete response;
  return nullptr;
}

}  // extern "C"
