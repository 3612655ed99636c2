#include "tests/triton/fake_triton.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/triton/fake_objects.h"

namespace onnx_cudnn::triton {
namespace {

std::string TextOf(TRITONSERVER_Error* error) {
  if (error == nullptr) return "";
  const std::string text = error->message;
  TRITONSERVER_ErrorDelete(error);
  return text;
}

}  // namespace

uint32_t fake_api_minor = kApiMinor;
FakeCounts fake_counts;

struct FakeServer::State {
  TRITONBACKEND_Backend backend;
  std::unique_ptr<TRITONBACKEND_Model> model;
  std::vector<std::unique_ptr<TRITONBACKEND_ModelInstance>> instances;
};

TRITONBACKEND_Request RequestOf(
    const std::map<std::string, std::pair<std::vector<int64_t>, absl::Span<const float>>>& inputs,
    const std::vector<std::string>& wanted) {
  TRITONBACKEND_Request request;
  request.wanted = wanted;
  for (const auto& [name, input] : inputs) {
    request.inputs[name] = {TRITONSERVER_TYPE_FP32,
                            input.first,
                            {{input.second.data(), input.second.size() * sizeof(float)}}};
  }
  return request;
}

FakeServer::FakeServer(const Parameters& backend_config) : state_(std::make_unique<State>()) {
  nlohmann::json config = {{"cmdline", {{"default-max-batch-size", "4"}}}};
  for (const auto& [key, value] : backend_config) config["cmdline"][key] = value;
  state_->backend.config.text = config.dump();
  error_ = TextOf(TRITONBACKEND_Initialize(&state_->backend));
}

FakeServer::~FakeServer() {
  for (const auto& instance : state_->instances) {
    EXPECT_EQ(TextOf(TRITONBACKEND_ModelInstanceFinalize(instance.get())), "");
  }
  if (state_->model != nullptr) {
    EXPECT_EQ(TextOf(TRITONBACKEND_ModelFinalize(state_->model.get())), "");
  }
  if (error_.empty()) {
    EXPECT_EQ(TextOf(TRITONBACKEND_Finalize(&state_->backend)), "");
  }
  EXPECT_EQ(fake_counts.metrics, 0);
  EXPECT_EQ(fake_counts.messages, 0);
  EXPECT_EQ(fake_counts.errors, 0);
}

std::string FakeServer::Load(std::string_view model, nlohmann::json config, bool completes) {
  const std::filesystem::path folder = std::filesystem::path(folder_.path()) / "m";
  std::filesystem::create_directories(folder / "1");
  std::ofstream(folder / "1/model.onnxtxt")
      << "<ir_version: 8, opset_import: [\"\": 17]> " << model;
  config["name"] = "m";
  if (!config.contains("default_model_filename")) {
    config["default_model_filename"] = "model.onnxtxt";
  }
  if (!config.contains("instance_group")) {
    config["instance_group"] = {{{"kind", "KIND_CPU"}, {"count", 1}}};
  }
  state_->model = std::make_unique<TRITONBACKEND_Model>(
      TRITONBACKEND_Model{folder.string(), &state_->backend, std::move(config), completes});
  const std::string error = TextOf(TRITONBACKEND_ModelInitialize(state_->model.get()));
  if (!error.empty()) {
    state_->model = nullptr;
    return error;
  }
  return AddInstance(state_->model->config["instance_group"][0]["kind"] == "KIND_MODEL"
                         ? TRITONSERVER_INSTANCEGROUPKIND_MODEL
                         : TRITONSERVER_INSTANCEGROUPKIND_CPU);
}

std::string FakeServer::AddInstance(TRITONSERVER_InstanceGroupKind kind, int device) {
  auto instance = std::make_unique<TRITONBACKEND_ModelInstance>(
      TRITONBACKEND_ModelInstance{kind, device, state_->model.get()});
  const std::string error = TextOf(TRITONBACKEND_ModelInstanceInitialize(instance.get()));
  if (error.empty()) state_->instances.push_back(std::move(instance));
  return error;
}

void FakeServer::Execute(const std::vector<TRITONBACKEND_Request*>& requests) {
  std::vector<TRITONBACKEND_Request*> all = requests;
  EXPECT_EQ(TextOf(TRITONBACKEND_ModelInstanceExecute(state_->instances[0].get(), all.data(),
                                                      static_cast<uint32_t>(all.size()))),
            "");
  for (const TRITONBACKEND_Request* request : requests) {
    EXPECT_EQ(request->responses, 1);
    EXPECT_EQ(request->releases, 1);
    EXPECT_EQ(request->successes + request->failures, 1);
    EXPECT_EQ(request->failures, request->error.has_value() ? 1 : 0);
  }
}

const nlohmann::json& FakeServer::config() const { return state_->model->config; }
std::vector<uint64_t> FakeServer::batches() const { return state_->instances[0]->batches; }
void* FakeServer::instance_state(size_t index) const { return state_->instances[index]->state; }

double MetricValue(const std::string& name, const std::string& device) {
  const auto found = fake_counts.values.find(name + "{m,1," + device + "}");
  return found == fake_counts.values.end() ? -1 : found->second;
}

}  // namespace onnx_cudnn::triton
