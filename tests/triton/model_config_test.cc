// Configurations that are completed from the model and checked with it.
#include "runtime/triton/model_config.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "nlohmann/json.hpp"
#include "tests/triton/fake_triton.h"

namespace onnx_cudnn::triton {
namespace {

constexpr std::string_view kRows =
    "g (float[N,2,H] x, int64[N] id) => (float[N,2,H] y, int64[N] same) "
    "{ y = Relu(x) same = Identity(id) }";
constexpr std::string_view kFixed = "g (float[3,2] x) => (float[3,2] y) { y = Relu(x) }";

Json Completed(std::string_view model, const Json& config = Json::object()) {
  FakeServer server;
  EXPECT_EQ(server.Load(model, config), "");
  Json completed = server.config();
  for (const char* given : {"name", "default_model_filename", "instance_group"}) {
    completed.erase(given);
  }
  return completed;
}

std::string ErrorOf(std::string_view model, const Json& config) {
  return FakeServer().Load(model, config);
}

Json Entry(const char* name, const char* type, const std::vector<int>& dims) {
  return {{"name", name}, {"data_type", type}, {"dims", dims}};
}

TEST(TritonConfigTest, ABatchAxisIsCompleted) {
  EXPECT_EQ(Completed(kRows), Json::parse(R"({
      "max_batch_size": 4, "dynamic_batching": {},
      "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [2, -1]},
                {"name": "id", "data_type": "TYPE_INT64", "dims": [1], "reshape": {"shape": []}}],
      "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2, -1]},
                 {"name": "same", "data_type": "TYPE_INT64", "dims": [1],
                  "reshape": {"shape": []}}]})"));
}

TEST(TritonConfigTest, AScalarHasOneDimForClients) {
  const Json completed = Completed("g (float[2] x, float k) => (float[2] y) { y = Mul(x, k) }");
  EXPECT_EQ(completed["input"][1],
            Json::parse(R"({"name": "k", "data_type": "TYPE_FP32", "dims": [1]})"));
}

TEST(TritonConfigTest, ALargerBatchAndASchedulerStay) {
  const Json given = {{"max_batch_size", 16}, {"dynamic_batching", {{"priority_levels", 2}}}};
  const Json completed = Completed(kRows, given);
  EXPECT_EQ(completed["max_batch_size"], 16);
  EXPECT_EQ(completed["dynamic_batching"], given["dynamic_batching"]);
}

TEST(TritonConfigTest, WithoutABatchAxisThereAreNoBatches) {
  EXPECT_EQ(Completed(kFixed), Json::parse(R"({
      "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [3, 2]}],
      "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [3, 2]}]})"));
}

TEST(TritonConfigTest, ListedInputsSayWhetherThereAreBatches) {
  const Json given = {
      {"input", {Entry("x", "TYPE_FP32", {-1, 2, 5}), Entry("id", "TYPE_INT64", {-1})}}};
  const Json completed = Completed(kRows, given);
  EXPECT_FALSE(completed.contains("max_batch_size"));
  EXPECT_EQ(completed["output"][0]["dims"], Json::parse("[-1, 2, -1]"));
}

TEST(TritonConfigTest, NothingIsCompletedUnlessTheServerDoes) {
  FakeServer server;
  EXPECT_EQ(server.Load(kFixed, Json::object(), /*completes=*/false),
            "the configuration lacks input x f32[3,2]");
  const Json given = {{"input", {Entry("x", "TYPE_FP32", {3, 2})}}};
  EXPECT_EQ(server.Load(kFixed, given, /*completes=*/false), "");
  EXPECT_FALSE(server.config().contains("output"));
}

TEST(TritonConfigTest, WhatContradictsTheModelIsNamed) {
  EXPECT_EQ(ErrorOf(kFixed, {{"max_batch_size", 4}}),
            "max_batch_size is 4, but the model has no batch axis (the first dim of every input "
            "and output must be one symbol): x f32[3,2], y f32[3,2]");
  EXPECT_EQ(ErrorOf(kFixed, {{"input", {Entry("a", "TYPE_FP32", {3, 2})}}}),
            "config.pbtxt has an input \"a\" that the model lacks; the model's: x f32[3,2]");
  EXPECT_EQ(ErrorOf(kRows, {{"input", {Entry("x", "TYPE_FP32", {-1, 2, -1})}}}),
            "the configuration lacks input id i64[N]");
  EXPECT_EQ(ErrorOf(kFixed, {{"output", {Entry("z", "TYPE_FP32", {3, 2})}}}),
            "config.pbtxt has an output \"z\" that the model lacks; the model's: y f32[3,2]");
  EXPECT_EQ(ErrorOf(kFixed, {{"input", {Entry("x", "TYPE_FP16", {3, 2})}}}),
            "input \"x\" has data_type TYPE_FP16 in the configuration, the model has TYPE_FP32");
  EXPECT_EQ(ErrorOf(kFixed, {{"input", {Entry("x", "TYPE_FP32", {3, 4})}}}),
            "input \"x\" has dims [3,4] in the configuration, the model has x f32[3,2]");
  const Json rows = {
      {"max_batch_size", 2},
      {"input", {Entry("x", "TYPE_FP32", {-1, 2, 5}), Entry("id", "TYPE_INT64", {1})}}};
  EXPECT_EQ(ErrorOf(kRows, rows),
            "input \"x\" has dims [-1,2,5] behind the batch in the configuration, the model has x "
            "f32[N,2,H]");
}

TEST(TritonConfigTest, WhatIsNotSupportedIsRefused) {
  EXPECT_EQ(ErrorOf(kFixed, {{"model_transaction_policy", {{"decoupled", true}}}}),
            "decoupled responses are not supported: each request has one response");
  EXPECT_EQ(ErrorOf(kFixed, {{"sequence_batching", {{"state", {{{"input_name", "x"}}}}}}}),
            "states of sequence_batching are not supported");
  EXPECT_EQ(ErrorOf(kFixed, {{"batch_input", {{{"kind", "BATCH_ELEMENT_COUNT"}}}}}),
            "batch_input is not supported");
  Json ragged = Entry("x", "TYPE_FP32", {3, 2});
  ragged["allow_ragged_batch"] = true;
  EXPECT_EQ(ErrorOf(kFixed, {{"input", {ragged}}}),
            "input \"x\": allow_ragged_batch is not supported");
  EXPECT_EQ(
      ErrorOf("g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x) }", Json::object())
          .substr(0, 8),
      "output y");
  EXPECT_EQ(ErrorOf("g (complex64[2] x) => (complex64[2] y) { y = Identity(x) }", Json::object()),
            "input x c64[2]: Triton has no such type");
  // A Run computes outputs that the configuration leaves out.
  EXPECT_EQ(
      ErrorOf("g (float[2] x) => (float[2] y, int4[2] z) { y = Relu(x) z = Cast<to = 22>(x) }",
              {{"output", {Entry("y", "TYPE_FP32", {2})}}}),
      "output z i4[2]: Triton has no such type");
}

TEST(TritonConfigTest, ParametersAreCheckedAtLoad) {
  const auto with = [](const char* key, const char* value) {
    return Json{{"parameters", {{key, {{"string_value", value}}}}}};
  };
  EXPECT_EQ(ErrorOf(kFixed, with("threds", "1")).substr(0, 43),
            "unknown parameter \"threds\", known are allow");
  EXPECT_EQ(ErrorOf(kFixed, with("devices", "0,1")),
            "parameter \"devices\" is for instance_group [{ kind: KIND_MODEL }], whose instances "
            "share one Session over these devices, found KIND_CPU, whose gpus say which ones it "
            "uses");
  EXPECT_EQ(ErrorOf(kRows, with("warm_up", "1,8")),
            "parameter \"warm_up\": 8 is beyond max_batch_size = 4");
  EXPECT_EQ(ErrorOf(kRows, with("warm_up", "2")),
            "parameter \"warm_up\": input x f32[N,2,H] has dims that nothing gives: warm up by "
            "model_warmup, or give them in the configuration");
  EXPECT_EQ(ErrorOf(kFixed, {{"default_model_filename", "gone.onnx"}}).find("gone.onnx") !=
                std::string::npos,
            true);
}

TEST(TritonConfigTest, TheServersOptionsAreDefaults) {
  EXPECT_EQ(FakeServer(Parameters{{"precision", "int4"}}).error(),
            "--backend-config=onnx_cudnn: parameter \"precision\": expected auto, strict, tf32, "
            "fp16, bf16, found \"int4\"");
  FakeServer server(Parameters{{"warm_up", "3"}, {"default-max-batch-size", "8"}});
  ASSERT_EQ(server.Load("g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }"), "");
  EXPECT_EQ(server.config()["max_batch_size"], 8);
  EXPECT_EQ(MetricValue("onnx_cudnn_programs_built"), 1);  // of 4 rows
}

TEST(TritonConfigTest, AnOlderTritonIsRefused) {
  fake_api_minor = kApiMinor - 1;
  const std::string error = FakeServer().error();
  fake_api_minor = kApiMinor;
  EXPECT_EQ(error,
            "the onnx_cudnn backend needs Triton's backend API 1.17 or a later 1.x (Triton 23.12), "
            "found 1.16");
}

TEST(TritonConfigTest, InstancesOfADeviceAreCounted) {
  const std::vector<InstanceGroup> groups = {{.kind = "KIND_GPU", .gpus = {0, 1}, .count = 2},
                                             {.kind = "KIND_GPU", .gpus = {1}, .count = 3},
                                             {.kind = "KIND_CPU", .gpus = {}, .count = 4}};
  EXPECT_EQ(InstancesOn(groups, "KIND_GPU", 0), 2);
  EXPECT_EQ(InstancesOn(groups, "KIND_GPU", 1), 5);
  EXPECT_EQ(InstancesOn(groups, "KIND_CPU", 0), 4);
}

}  // namespace
}  // namespace onnx_cudnn::triton
